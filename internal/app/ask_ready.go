package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/caarlos0/env/v11"
)

// askTimeout is how long a server may take to say whether it is ready.
const askTimeout = 5 * time.Second

// AskReady asks the server that listens where an environment says whether it can do its work, as
// containers want to know. The error says what keeps it from it.
func AskReady(ctx context.Context, environ []string) error {
	cfg, err := LoadConfig(env.ToMap(environ))
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("no server answers: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return errors.New("the server cannot do its work now: " + res.Status)
	}
	return nil
}
