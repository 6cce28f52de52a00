package bench

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
)

// authenticating dials and then authenticates, so that whoever gets the connection need not know. dial nil is the network, mechanism nil
// authenticates nothing.
func authenticating(dial Dialer, mechanism sasl.Mechanism) Dialer {
	if dial == nil {
		dial = netDial
	}
	if mechanism == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		socket, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := authenticate(ctx, socket, address, mechanism); err != nil {
			socket.Close()
			return nil, fmt.Errorf("authenticate at %s: %w", address, err)
		}
		return socket, nil
	}
}

// authenticate is a client's part of SaslHandshake 1 and SaslAuthenticate 1 (KIP-152). Nobody sends but when asked, so that nothing of what
// follows has been read when it returns.
func authenticate(ctx context.Context, socket net.Conn, address string, mechanism sasl.Mechanism) error {
	if err := socket.SetDeadline(time.Now().Add(askTimeout)); err != nil {
		return err
	}
	c := newRawConn(ctx, socket)
	defer c.stop()
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Version, handshake.Mechanism = 1, mechanism.Name()
	answer, err := c.Do(handshake)
	if err != nil {
		return err
	}
	shaken := answer.(*kmsg.SASLHandshakeResponse)
	if err := kerr.ErrorForCode(shaken.ErrorCode); err != nil {
		return fmt.Errorf("%s, the node has %v: %w", mechanism.Name(), shaken.SupportedMechanisms, err)
	}
	session, said, err := mechanism.Authenticate(ctx, address)
	for done := false; !done; {
		if err != nil {
			return err
		}
		step := kmsg.NewPtrSASLAuthenticateRequest()
		step.Version, step.SASLAuthBytes = 1, said
		if answer, err = c.Do(step); err != nil {
			return err
		}
		told := answer.(*kmsg.SASLAuthenticateResponse)
		if err := kerr.ErrorForCode(told.ErrorCode); err != nil {
			if told.ErrorMessage != nil {
				err = fmt.Errorf("%w: %s", err, *told.ErrorMessage)
			}
			return err
		}
		done, said, err = session.Challenge(told.SASLAuthBytes)
	}
	if err != nil {
		return err
	}
	return socket.SetDeadline(time.Time{})
}

// accessOptions are franz-go's for the same.
func accessOptions(dial Dialer, mechanism sasl.Mechanism) (opts []kgo.Opt) {
	if dial != nil {
		opts = append(opts, kgo.Dialer(dial))
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts
}
