package member

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/serf/serf"
)

// gossipLabel stands before every packet and stream, so that what other programs with serf send is not taken for ours.
const gossipLabel = "ringmill"

// The rest of serf's and memberlist's settings are those for a local network.
const (
	// broadcastTimeout bounds how long SetInfo and Leave wait until somebody was told.
	broadcastTimeout = time.Second
	// leaveDelay is how long a node that leaves answers still, while the word spreads: one gossip interval.
	leaveDelay = 200 * time.Millisecond
	// reconnectInterval is how often a failed node is asked again; serf's half minute is long beside a restart.
	reconnectInterval = 5 * time.Second
	// reconnectTimeout is how long a failed node is asked: over a long weekend.
	reconnectTimeout = 72 * time.Hour
	// reclaimTime is how long a node must have been dead before its id may come back at another address.
	reclaimTime = 5 * time.Second
)

// loopbacks are all that may be a member where the gossip address is a loopback one.
var loopbacks = []net.IPNet{
	{IP: net.IPv4(127, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)},
	{IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)},
}

// serfConfig makes serf's configuration, and the directory that it writes to.
func (a *Agent) serfConfig(cfg Config) (*serf.Config, error) {
	listen, err := resolve(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("gossip address %s: %w", cfg.Listen, err)
	}
	if cfg.Dir != "" {
		if err := cfg.Files.MkdirAll(cfg.Dir, 0o700); err != nil {
			return nil, err
		}
	}
	conf := serf.DefaultConfig()
	conf.Init()
	conf.NodeName = nodeName(cfg.Info.NodeID)
	conf.Tags = cfg.Info.Tags()
	conf.EventCh = a.events
	conf.Merge = a.merges
	conf.Logger = a.log.logger()
	conf.BroadcastTimeout, conf.LeavePropagateDelay = broadcastTimeout, leaveDelay
	conf.ReconnectInterval, conf.ReconnectTimeout = reconnectInterval, reconnectTimeout
	conf.EnableNameConflictResolution = false // it shuts the loser's agent down; the controller decides, and the log tells
	conf.DisableCoordinates = true
	conf.RejoinAfterLeave = true // a clean stop is no farewell
	if cfg.Dir != "" {
		conf.SnapshotPath = filepath.Join(cfg.Dir, "snapshot")
		conf.KeyringFile = filepath.Join(cfg.Dir, keyringName)
	}
	return conf, a.memberlistConfig(conf, cfg, listen)
}

func (a *Agent) memberlistConfig(conf *serf.Config, cfg Config, listen *net.TCPAddr) (err error) {
	m := memberlist.DefaultLANConfig()
	conf.MemberlistConfig = m
	m.Label = gossipLabel
	m.Logger = conf.Logger
	m.DeadNodeReclaimTime = reclaimTime
	m.BindAddr, m.BindPort = listen.IP.String(), listen.Port
	if listen.IP.IsLoopback() {
		m.CIDRsAllowed = loopbacks
	}
	if m.AdvertiseAddr, m.AdvertisePort, err = advertised(cfg, listen); err != nil {
		return err
	}
	m.Keyring, err = a.openKeyring(cfg.Files, conf.KeyringFile, cfg.Key)
	if err == nil && m.Keyring == nil && !listen.IP.IsLoopback() {
		err = fmt.Errorf("gossip at %s needs a key, for it is no loopback address: set ringmill.gossip.key to the same 32 bytes in base64 on every node, as openssl rand -base64 32 writes them", cfg.Listen)
	}
	return err
}

// resolve makes an address of host:port; no host is every interface.
func resolve(address string) (*net.TCPAddr, error) {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if addr.IP == nil {
		addr.IP = net.IPv4zero
	}
	return addr, nil
}

// advertised is where the others find this agent.
func advertised(cfg Config, listen *net.TCPAddr) (host string, port int, err error) {
	address := cfg.Advertise
	if address == "" {
		if !listen.IP.IsUnspecified() {
			return listen.IP.String(), listen.Port, nil
		}
		host, _, err := net.SplitHostPort(cfg.Info.Addr)
		if err != nil {
			return "", 0, fmt.Errorf("gossip at %s: no address for other nodes; set ringmill.gossip.advertise", cfg.Listen)
		}
		address = net.JoinHostPort(host, strconv.Itoa(listen.Port))
	}
	addr, err := resolve(address)
	if err != nil || addr.IP.IsUnspecified() {
		return "", 0, fmt.Errorf("gossip at %s: other nodes cannot reach %s; set ringmill.gossip.advertise to an address of this machine", cfg.Listen, address)
	}
	return addr.IP.String(), addr.Port, nil
}
