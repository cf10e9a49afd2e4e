package webclient

import (
	"context"
	"net/netip"
	"syscall"
)

// Policy says which addresses a request may reach. It is checked when a
// connection is made, on the very address that is connected to, so neither a
// second look-up nor an odd way to write an address gets around it.
type Policy int

const (
	// Configured is for a host that the operator wrote down: addresses of
	// this machine and of private networks are fine, those of link-local
	// networks, where clouds hand out credentials, are not. Redirects lead
	// to the same host or to an allowed one.
	Configured Policy = iota + 1
	// PublicOnly is for a host that the model chose: only addresses of the
	// public internet are reached. Redirects may lead to any of them, as
	// the model could have asked for any of them.
	PublicOnly
)

// control makes the dialer's check. It runs after names are resolved and
// before anything is sent.
func (p Policy) control(then func(address string) error) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return refuse("the address %q could not be read", shorten(address))
		}
		if err := p.check(ap.Addr()); err != nil {
			return err
		}
		if then != nil {
			return then(address)
		}
		return nil
	}
}

func (p Policy) check(a netip.Addr) error {
	a = a.WithZone("").Unmap()
	switch {
	case p == PublicOnly && !public(a):
		return refuse("the address %s is not on the public internet", a)
	case linkLocal(a) || in(translated64Local, a):
		return refuse("the address %s is link-local or a metadata service, which tools don't reach", a)
	}
	return nil
}

// notPublic4 are the IPv4 blocks that are not globally reachable, from IANA's
// special-purpose registry (RFC 6890), and multicast.
var notPublic4 = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
)

// public6 is all of IPv6 that is handed out for the internet. What lies outside
// (loopback, unique local, link-local, addresses that hold an IPv4 one such as
// 64:ff9b::/96) is not public.
var public6 = netip.MustParsePrefix("2000::/3")

// notPublic6 are the special blocks inside public6: protocol assignments with
// Teredo, documentation, 6to4.
var notPublic6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

// metadata are services of clouds that give credentials to whoever asks.
var metadata = prefixes(
	"100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::254/128",
)

var unreachable = prefixes("169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32", "fe80::/10", "fec0::/10", "ff00::/8")

// The blocks of IPv6 whose addresses hold an IPv4 address: NAT64 (RFC 6052),
// its local form (RFC 8215), 6to4 (RFC 3056), IPv4-compatible (RFC 4291).
var (
	translated64      = prefixes("64:ff9b::/96", "::/96")
	translated64Local = prefixes("64:ff9b:1::/48")
	sixToFour         = prefixes("2002::/16")
)

func public(a netip.Addr) bool {
	if in(metadata, a) {
		return false
	}
	if a.Is4() {
		return !in(notPublic4, a)
	}
	return public6.Contains(a) && !in(notPublic6, a)
}

func linkLocal(a netip.Addr) bool {
	if in(unreachable, a) || in(metadata, a) {
		return true
	}
	if a.Is4() {
		return false
	}
	b := a.As16()
	switch {
	case in(translated64, a):
		return linkLocal(netip.AddrFrom4([4]byte(b[12:16])))
	case in(sixToFour, a):
		return linkLocal(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return false
}

func in(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, s := range texts {
		list[i] = netip.MustParsePrefix(s)
	}
	return list
}
