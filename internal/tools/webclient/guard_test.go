package webclient

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestPolicyAddresses(t *testing.T) {
	tests := []struct {
		addr               string
		public, configured bool
	}{
		{"93.184.216.34", true, true},
		{"2606:4700:4700::1111", true, true},
		{"8.8.8.8", true, true},
		{"127.0.0.1", false, true},
		{"127.9.9.9", false, true},
		{"0.0.0.0", false, true},
		{"10.1.2.3", false, true},
		{"172.16.0.1", false, true},
		{"172.31.255.255", false, true},
		{"172.32.0.1", true, true},
		{"192.168.1.1", false, true},
		{"100.64.0.1", false, true},
		{"100.127.255.255", false, true},
		{"100.128.0.1", true, true},
		{"100.100.100.200", false, false},
		{"168.63.129.16", false, false},
		{"169.254.169.254", false, false},
		{"169.254.0.1", false, false},
		{"192.0.2.1", false, true},
		{"198.18.0.1", false, true},
		{"224.0.0.1", false, false},
		{"255.255.255.255", false, false},
		{"240.0.0.1", false, true},
		{"::1", false, true},
		{"::", false, true},
		{"::1%lo", false, true},
		{"::7f00:1", false, true}, // ::127.0.0.1, IPv4-compatible
		{"::ffff:127.0.0.1", false, true},
		{"::ffff:169.254.169.254", false, false},
		{"::ffff:93.184.216.34", true, true},
		{"64:ff9b::7f00:1", false, true},
		{"64:ff9b::a9fe:a9fe", false, false}, // 169.254.169.254
		{"64:ff9b::5db8:d822", false, true},
		{"64:ff9b:1::a9fe:a9fe", false, false},
		{"64:ff9b:1:7f00:0:100::", false, false},
		{"2002:7f00:1::", false, true},
		{"2002:a9fe:a9fe::1", false, false},
		{"2001::1", false, true}, // Teredo
		{"2001:db8::1", false, true},
		{"2001:4860:4860::8888", true, true},
		{"fd00:ec2::254", false, false},
		{"fd20:ce::254", false, false},
		{"fd12:3456::1", false, true},
		{"fe80::1", false, false},
		{"fe80::1%eth0", false, false},
		{"fec0::1", false, false},
		{"ff02::1", false, false},
		{"5f00::1", false, true},
		{"100::1", false, true},
		{"3fff::1", false, true},
	}
	for _, tt := range tests {
		t.Run("F01 "+tt.addr, func(t *testing.T) {
			a := netip.MustParseAddr(tt.addr)
			if err := PublicOnly.check(a); (err == nil) != tt.public {
				t.Errorf("public only: %v, want reachable %v", err, tt.public)
			}
			if err := Configured.check(a); (err == nil) != tt.configured {
				t.Errorf("configured: %v, want reachable %v", err, tt.configured)
			}
		})
	}
}

// TestPublicOnlyCanary asks for this machine in every way to write it.
func TestPublicOnlyCanary(t *testing.T) {
	port := canary(t)
	// Some systems read numbers as addresses, the resolver here does so for all.
	loopback := fakeDNS(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
	c := newClient(t, Options{Resolver: loopback})
	hosts := []string{
		"127.0.0.1", "localhost", "LOCALHOST", "[::1]", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "[::1%25lo]",
		"[::ffff:7f00:1]", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "localhost.", "private.example",
	}
	for _, host := range hosts {
		t.Run("10 F01 "+host, func(t *testing.T) {
			u := mustURL(t, "http://"+host+":"+port+"/latest?token=hunter2")
			_, err := c.Do(limited(t), &Request{Method: "GET", URL: u, Policy: PublicOnly})
			// Go's own resolver takes no number for a name; others do.
			number := host[0] >= '0' && host[0] <= '9'
			var refused *RefusedError
			if err == nil || !number && !errors.As(err, &refused) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "latest") {
				t.Errorf("the error holds more than the origin: %v", err)
			}
		})
	}
}

var errSeen = errors.New("seen")

// addresses records what the guard lets pass, and connects to nothing.
type addresses struct {
	mu   sync.Mutex
	list []string
}

func (a *addresses) see(address string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, address)
	return errSeen
}

func TestRebinding(t *testing.T) {
	public, private := netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("127.0.0.1")
	t.Run("10 F03 private at the second look-up", func(t *testing.T) {
		port := canary(t)
		var seen addresses
		lookups := 0
		c := newClient(t, Options{connecting: seen.see, Resolver: fakeDNS(func(string) []netip.Addr {
			if lookups++; lookups == 1 {
				return []netip.Addr{public}
			}
			return []netip.Addr{private}
		})})
		ask := func() error {
			_, err := c.Do(limited(t), &Request{Method: "GET", URL: mustURL(t, "http://rebind.example:"+port), Policy: PublicOnly})
			return err
		}
		if err := ask(); !errors.Is(err, errSeen) {
			t.Fatalf("first: %v, want the public address to pass the guard", err)
		}
		var refused *RefusedError
		if err := ask(); !errors.As(err, &refused) {
			t.Fatalf("second: %v, want a refusal", err)
		}
		if want := []string{"93.184.216.34:" + port}; !slices.Equal(seen.list, want) {
			t.Errorf("connected to %v, want %v", seen.list, want)
		}
	})
	t.Run("F03 mixed records", func(t *testing.T) {
		port := canary(t)
		var seen addresses
		c := newClient(t, Options{connecting: seen.see, Resolver: fakeDNS(func(string) []netip.Addr {
			return []netip.Addr{private, public, netip.MustParseAddr("10.0.0.1")}
		})})
		_, err := c.Do(limited(t), &Request{Method: "GET", URL: mustURL(t, "http://mixed.example:"+port), Policy: PublicOnly})
		if err == nil {
			t.Fatal("got an answer")
		}
		if want := []string{"93.184.216.34:" + port}; !slices.Equal(seen.list, want) {
			t.Errorf("connected to %v, want %v", seen.list, want)
		}
	})
}

func TestConfiguredMetadata(t *testing.T) {
	c := newClient(t, Options{Resolver: fakeDNS(func(string) []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("169.254.169.254")}
	})})
	for _, host := range []string{"169.254.169.254", "[fe80::1%25lo]", "[fd00:ec2::254]", "metadata.example"} {
		_, err := get(t, c, "http://"+host+"/")
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a refusal", host, err)
		}
	}
}

// TestPoliciesShareNoConnections makes a kept connection of the laxer policy
// and asks for the same host under the stricter one.
func TestPoliciesShareNoConnections(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := newClient(t, Options{})
	if _, err := get(t, c, s.URL); err != nil {
		t.Fatal(err)
	}
	_, err := c.Do(limited(t), &Request{Method: "GET", URL: mustURL(t, s.URL), Policy: PublicOnly})
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestProxyVariablesAreIgnored(t *testing.T) {
	var seen addresses
	c := newClient(t, Options{connecting: seen.see})
	if _, err := get(t, c, "http://93.184.216.34/"); !errors.Is(err, errSeen) {
		t.Fatal(err)
	}
	if want := []string{"93.184.216.34:80"}; !slices.Equal(seen.list, want) {
		t.Errorf("connected to %v, want %v", seen.list, want)
	}
}
