package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fleetboard/handlers/api/apiclient"
)

const (
	startTimeout = time.Minute
	stopTimeout  = 20 * time.Second
)

// web is a server's process, with a database of its own beside the town.
type web struct {
	binary string
	dir    string
	env    []string
	url    string
	cmd    *exec.Cmd
	logs   *os.File
	ended  chan struct{}
}

// database makes an empty one and gives its address.
func (s *stage) database(ctx context.Context, name string) (string, error) {
	if _, err := s.owner.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	u, err := url.Parse(s.postgres.URL())
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// startWeb builds the server as it is released and starts it without a limit of
// requests: a limit would be what is measured.
func (s *stage) startWeb(ctx context.Context) (*web, error) {
	address, err := s.database(ctx, "bench_web")
	if err != nil {
		return nil, err
	}
	w := &web{binary: filepath.Join(s.dir, "web"), dir: filepath.Join(s.dir, "web-data")}
	if w.logs, err = os.Create(filepath.Join(s.dir, "web.log")); err != nil {
		return nil, err
	}
	// #nosec G204 -- our own program
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", w.binary, "fleetboard/cmd/web").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the server: %w: %s", err, out)
	}
	w.env = []string{"DATABASE_URL=" + address, "FLEETBOARD_DATA_DIR=" + w.dir, "FLEETBOARD_LISTEN=127.0.0.1:0", "FLEETBOARD_RATE_LIMIT=0",
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	w.cmd = exec.CommandContext(ctx, w.binary) // #nosec G204 -- our own program
	w.cmd.Env, w.cmd.Stderr = w.env, w.logs
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	at := make(chan string, 1)
	w.ended = make(chan struct{})
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if address, ok := strings.CutPrefix(lines.Text(), "Fleetboard is at "); ok {
				at <- address
			}
		}
		_ = w.cmd.Wait()
		close(w.ended)
	}()
	select {
	case w.url = <-at:
		return w, nil
	case <-w.ended:
		return nil, fmt.Errorf("the server ended at its start: %s", w.tail())
	case <-time.After(startTimeout):
		return nil, errors.Join(errors.New("the server did not start"), w.stop())
	}
}

func (w *web) stop() error {
	defer func() { _ = w.logs.Close() }()
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-w.ended:
		return nil
	case <-time.After(stopTimeout):
		_ = w.cmd.Process.Kill()
		<-w.ended
		return errors.New("the server did not end when it was asked to")
	}
}

// inspect asks whether the rows agree and whether the log tells the state: what
// was fast and wrong does not count.
func (w *web) inspect(ctx context.Context) error {
	for _, command := range []string{"audit", "verify-log"} {
		cmd := exec.CommandContext(ctx, w.binary, command) // #nosec G204 -- our own program
		cmd.Env = w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command, err, out)
		}
	}
	return nil
}

// client speaks with a token, or with one of the files of the first start where
// the token is the file's name.
func (w *web) client(token string) (*apiclient.ClientWithResponses, error) {
	if text, err := os.ReadFile(filepath.Join(w.dir, filepath.Base(token))); err == nil {
		token = strings.TrimSpace(string(text))
	}
	return apiclient.NewClientWithResponses(w.url+"/api/v1",
		apiclient.WithHTTPClient(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}),
		apiclient.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token)
			return nil
		}))
}

// answered turns an answer that is not the one wanted into an error.
func answered(what string, got *http.Response, body []byte, want ...int) error {
	for _, status := range want {
		if got.StatusCode == status {
			return nil
		}
	}
	return fmt.Errorf("%s: %s: %.500s", what, got.Status, body)
}

// tail is the end of what the server logged.
func (w *web) tail() string {
	text, _ := os.ReadFile(w.logs.Name())
	return string(text[max(0, len(text)-2000):])
}
