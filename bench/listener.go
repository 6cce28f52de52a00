package bench

import (
	"bytes"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ListenerPID is the process of this machine that listens at an address, host:port; 0 if there is none that this process may see. /proc/net/tcp
// (proc_net(5)) has the sockets of the network namespace, /proc/PID/fd whose they are.
func ListenerPID(address string) int {
	inodes := listening(address)
	if len(inodes) == 0 {
		return 0
	}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, path := range open {
		target, err := os.Readlink(path)
		if err != nil || !slices.Contains(inodes, strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(path, "/")[2]); err == nil {
			return pid
		}
	}
	return 0
}

// IsLocal tells whether an address, host:port, is this machine's.
func IsLocal(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ips, err := net.LookupIP(host)
	if err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(ips, func(ip net.IP) bool {
		return ip.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
			network, ok := a.(*net.IPNet)
			return ok && network.IP.Equal(ip)
		})
	})
}

// listening are the inodes of the sockets that listen at an address of this machine.
func listening(address string) (inodes []string) {
	_, text, err := net.SplitHostPort(address)
	port, wrong := strconv.ParseUint(text, 10, 16)
	if err != nil || wrong != nil || !IsLocal(address) {
		return nil
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		sockets, _ := os.ReadFile(table) // without IPv6 there is no second one
		for line := range bytes.Lines(sockets) {
			if inode, at := listenerIn(string(line)); at.Port() == uint16(port) && answersAt(at.Addr(), address) {
				inodes = append(inodes, inode)
			}
		}
	}
	return inodes
}

// answersAt tells whether who listens at an address, or at all of them, is asked by who connects to host:port.
func answersAt(at netip.Addr, address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ips, _ := net.LookupIP(host)
	return at.IsUnspecified() || slices.ContainsFunc(ips, func(ip net.IP) bool { return ip.String() == at.String() })
}

// tcpListen is the state of a socket that listens, in /proc/net/tcp.
const tcpListen = "0A"

// listenerIn reads a line of /proc/net/tcp or tcp6; the port is 0 if it is not about a socket that listens.
func listenerIn(line string) (inode string, at netip.AddrPort) {
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != tcpListen {
		return "", netip.AddrPort{}
	}
	host, port, _ := strings.Cut(fields[1], ":")
	raw, err := hex.DecodeString(host)
	number, wrong := strconv.ParseUint(port, 16, 16)
	if err != nil || wrong != nil || len(raw)%4 != 0 {
		return "", netip.AddrPort{}
	}
	for i := 0; i < len(raw); i += 4 { // words of the machine's order, which is little endian wherever ringmill runs
		slices.Reverse(raw[i : i+4])
	}
	ip, ok := netip.AddrFromSlice(raw)
	if !ok {
		return "", netip.AddrPort{}
	}
	return fields[9], netip.AddrPortFrom(ip.Unmap(), uint16(number))
}
