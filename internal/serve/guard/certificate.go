package guard

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery is how often, at most, the files of a certificate are looked at.
const lookEvery = 10 * time.Second

// Certificate is the server's own. It is read again when its files have changed,
// as they do when it is renewed; one that cannot be read leaves the old one.
type Certificate struct {
	certFile, keyFile string
	now               func() time.Time
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	state   [2]fileState
	looked  time.Time
}

type fileState struct {
	modified time.Time
	size     int64
}

// ReadCertificate reads PEM files. now is the clock.
func ReadCertificate(certFile, keyFile string, now func() time.Time, log *slog.Logger) (*Certificate, error) {
	if certFile == "" || keyFile == "" {
		return nil, errors.New("TLS needs both a certificate and its key")
	}
	c := &Certificate{certFile: certFile, keyFile: keyFile, now: now, log: log}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config gives the settings of a server with this certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

// get gives the certificate for a connection.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		if err := c.read(); err != nil {
			c.log.Warn("the old TLS certificate stays in use", "error", err)
		}
	}
	return c.current, nil
}

// read reads the files unless they are as they were.
func (c *Certificate) read() error {
	var state [2]fileState
	for i, name := range [...]string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("the TLS certificate: %w", err)
		}
		state[i] = fileState{info.ModTime(), info.Size()}
	}
	if c.current != nil && state == c.state {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("the TLS certificate of %s and the key of %s: %w", c.certFile, c.keyFile, err)
	}
	c.current, c.state = &pair, state
	return nil
}
