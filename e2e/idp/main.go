package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/accounts/idptest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	client := strings.Fields(os.Getenv("IDP_CLIENT"))
	if len(client) != 3 {
		return errors.New("IDP_CLIENT has to be: id secret redirect-uri")
	}
	var people []idptest.Person
	for line := range strings.Lines(os.Getenv("IDP_PEOPLE")) {
		f := strings.Fields(line)
		if len(f) != 6 {
			return errors.New("a line of IDP_PEOPLE has to be: subject username password first last e-mail")
		}
		people = append(people, idptest.Person{Subject: f[0], Username: f[1], Password: f[2], First: f[3], Last: f[4], Email: f[5]})
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	// Another name than that of the server under test: to the browser it is
	// another site.
	issuer := "http://localhost:" + port
	fmt.Fprintln(os.Stdout, issuer)
	server := &http.Server{
		Handler:           idptest.Handler(issuer, idptest.Client{ID: client[0], Secret: client[1], RedirectURI: client[2]}, people...),
		ReadHeaderTimeout: 5 * time.Second,
	}
	return server.Serve(listener)
}
