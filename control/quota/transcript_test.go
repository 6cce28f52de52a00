package quota

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/ringmill/ringmill/control/image"
)

// The transcripts of testdata/transcripts drive one of each kind on a clock that only they move:
//
//	windows count=N size=MS              everything anew
//	set KEY=V... [user=U] [client=C] [ip=A]   sets quotas; <default> is the default, - takes a value away
//	level user=U client=C                prints the producer's limit and whose consumption counts
//	after MS                             moves the clock
//	produce|request user=U client=C value=V    records, prints the wait
//	fetch user=U client=C value=V        records what is to be served, prints the wait and whether it may be
//	note user=U client=C value=V         counts for produce without a wait
//	most user=U client=C                 prints the largest value that is let through
//	mutate user=U client=C permits=N [strict]
//	rate N [listener=L]                  max.connection.creation.rate
//	connect ip=A [listener=L]            prints what becomes of a connection
//	shares                               prints how many are remembered
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		p := &play{}
		p.reset(Windows{Count: 11, SizeMS: 1000})
		datadriven.RunTest(t, path, p.run)
	})
}

type play struct {
	image       *image.Image
	now         int64
	produce     *Limiter
	request     *Limiter
	mutations   *Mutations
	connections *Connections
}

func (p *play) reset(w Windows) {
	*p = play{image: new(image.Image), now: 1_000_000, produce: NewByteLimiter(w), request: NewTimeLimiter(w),
		mutations: NewMutations(w), connections: NewConnections(w)}
}

func (p *play) run(t *testing.T, d *datadriven.TestData) string {
	a := argumentsOf(t, d)
	switch d.Cmd {
	case "windows":
		p.reset(Windows{Count: int(a.count), SizeMS: a.size})
		return "ok"
	case "set":
		return p.set(t, d, a)
	case "level":
		limits := LimitsOf(p.image, ProducerByteRate)
		limit, share, ok := limits.Of(a.client)
		if !ok {
			return "no limit"
		}
		return fmt.Sprintf("%v, by user=%q client=%q", limit, share.User, share.ClientID)
	case "after":
		var ms int64
		_, _ = fmt.Sscan(d.CmdArgs[0].Key, &ms)
		p.now += ms
		return fmt.Sprint(p.now)
	case "produce":
		return fmt.Sprint(p.produce.Record(a.client, a.value, p.now), " ms")
	case "request":
		return fmt.Sprint(p.request.Record(a.client, a.value, p.now), " ms")
	case "fetch":
		wait, serve := p.produce.RecordServed(a.client, a.value, p.now)
		return fmt.Sprintf("%d ms, served: %v", wait, serve)
	case "note":
		p.produce.Note(a.client, a.value, p.now)
		return "ok"
	case "most":
		return fmt.Sprint(p.produce.Most(a.client))
	case "mutate":
		wait, ok := p.mutations.Charge(a.client, a.permits, d.HasArg("strict"), p.now)
		return fmt.Sprintf("%d ms, let through: %v", wait, ok)
	case "rate":
		p.rate(d, a)
		return "ok"
	case "connect":
		return p.connect(a)
	case "shares":
		return fmt.Sprint("produce ", p.produce.Shares(), ", mutations ", p.mutations.Shares())
	}
	return "unknown command"
}

func (p *play) rate(d *datadriven.TestData, a arguments) {
	var limit float64
	_, _ = fmt.Sscan(d.CmdArgs[0].Key, &limit)
	if d.HasArg("listener") {
		p.connections.SetListenerRate(a.listener, limit)
		return
	}
	p.connections.SetRate(limit)
}

func (p *play) connect(a arguments) string {
	wait := p.connections.Accept(a.listener, p.now)
	p.now += wait
	if hold := p.connections.Admit(a.listener, netip.MustParseAddr(a.ip), p.now); hold > 0 {
		return fmt.Sprintf("accepted after %d ms, closed after %d ms", wait, hold)
	}
	return fmt.Sprintf("accepted after %d ms", wait)
}

// set changes the image by records, as AlterClientQuotas does, and hands the limits to all.
func (p *play) set(t *testing.T, d *datadriven.TestData, a arguments) string {
	entity := image.QuotaEntity{User: part(d, "user", a.client.User), ClientID: part(d, "client", a.client.ClientID), IP: part(d, "ip", a.ip)}
	var records []image.Record
	for _, arg := range d.CmdArgs {
		if !strings.Contains(arg.Key, "_") {
			continue
		}
		r := image.ClientQuotaRecord{Entity: entity, Key: arg.Key, Remove: arg.Vals[0] == "-"}
		if !r.Remove {
			_, _ = fmt.Sscan(arg.Vals[0], &r.Value)
		}
		records = append(records, r)
	}
	next, err := p.image.With(records...)
	if err != nil {
		return err.Error()
	}
	p.image = next
	p.produce.SetLimits(LimitsOf(next, ProducerByteRate))
	p.request.SetLimits(LimitsOf(next, RequestPercentage))
	p.mutations.SetLimits(LimitsOf(next, ControllerMutationRate))
	p.setAddresses(t)
	return "ok"
}

func (p *play) setAddresses(t *testing.T) {
	limits, byDefault := map[netip.Addr]float64{}, float64(Unlimited)
	for _, e := range p.image.QuotaEntities() {
		v, ok := p.image.ClientQuotas(e)[ConnectionCreationRate]
		switch {
		case !ok:
		case e.IP.Default:
			byDefault = v
		default:
			addr, ok := ParseAddress(e.IP.Name)
			if !ok {
				t.Fatalf("%q is no address", e.IP.Name)
			}
			limits[addr] = v
		}
	}
	p.connections.SetAddressRates(limits, byDefault)
}

func part(d *datadriven.TestData, arg, name string) image.QuotaName {
	switch {
	case !d.HasArg(arg):
		return image.QuotaName{}
	case name == "<default>":
		return image.DefaultQuota
	}
	return image.NamedQuota(name)
}

type arguments struct {
	client         Client
	value, permits float64
	count, size    int64
	listener, ip   string
}

func argumentsOf(t *testing.T, d *datadriven.TestData) (a arguments) {
	a.listener, a.ip = "PLAINTEXT", "127.0.0.1"
	for key, into := range map[string]any{"user": &a.client.User, "client": &a.client.ClientID, "listener": &a.listener, "ip": &a.ip, "count": &a.count, "size": &a.size} {
		d.MaybeScanArgs(t, key, into)
	}
	for key, into := range map[string]*float64{"value": &a.value, "permits": &a.permits} {
		var text string
		if d.MaybeScanArgs(t, key, &text) {
			if _, err := fmt.Sscan(text, into); err != nil {
				t.Fatal(err)
			}
		}
	}
	return a
}
