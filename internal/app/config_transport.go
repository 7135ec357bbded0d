package app

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// TransportConfig is about how the processes of one database wake each other.
type TransportConfig struct {
	// Name is listen, nats or poll.
	Name string `env:"FLEETBOARD_TRANSPORT" envDefault:"listen"`
	// NATSURL has the addresses of a cluster's servers with commas between them; embedded is a
	// server that the processes of one data directory share.
	NATSURL string `env:"FLEETBOARD_NATS_URL"`
	// NATSCreds is a file with the credentials for them.
	NATSCreds string `env:"FLEETBOARD_NATS_CREDS"`
	// NATSSigningKey is a file with the seed of their account, or of a key that signs for it: for
	// credentials of factories.
	NATSSigningKey string `env:"FLEETBOARD_NATS_SIGNING_KEY"`
}

// natsEmbedded is the address of a server inside the process.
const natsEmbedded = "embedded"

func (c TransportConfig) check() error {
	switch c.Name {
	case transport.NameNATS:
		return errors.Join(c.checkURL(), c.checkCreds())
	case transport.NameListen, transport.NamePoll:
		if c.NATSURL != "" || c.NATSCreds != "" || c.NATSSigningKey != "" {
			return errors.New("FLEETBOARD_NATS_URL, FLEETBOARD_NATS_CREDS and FLEETBOARD_NATS_SIGNING_KEY: " +
				"set them with FLEETBOARD_TRANSPORT=nats only")
		}
		return nil
	default:
		return errors.New("FLEETBOARD_TRANSPORT: must be listen, nats or poll")
	}
}

func (c TransportConfig) checkURL() error {
	if c.NATSURL == natsEmbedded {
		return nil
	}
	for one := range strings.SplitSeq(c.NATSURL, ",") {
		// The parser's error would repeat the password.
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" && u.Scheme != "wss" {
			return errors.New("FLEETBOARD_NATS_URL: must be embedded, or URLs like nats://host:4222 or tls://host:4222 " +
				"with commas between several")
		}
	}
	return nil
}

func (c TransportConfig) checkCreds() error {
	if c.NATSCreds == "" {
		if c.NATSSigningKey != "" {
			return errors.New("FLEETBOARD_NATS_SIGNING_KEY: set it with FLEETBOARD_NATS_CREDS only, whose account it is of")
		}
		return nil
	}
	if c.NATSURL == natsEmbedded {
		return errors.New("FLEETBOARD_NATS_CREDS: the embedded server needs none")
	}
	if _, err := os.Stat(c.NATSCreds); err != nil {
		return fmt.Errorf("FLEETBOARD_NATS_CREDS: must be a file that can be read: %w", errors.Unwrap(err))
	}
	return nil
}

// open returns the transport; nothing is connected yet.
func (c TransportConfig) open(d *db.DB, dataDir string, key []byte) (notifier.Transport, error) {
	switch c.Name {
	case transport.NameNATS:
		o := transport.NATSOptions{URL: c.NATSURL, Creds: c.NATSCreds, SigningKey: c.NATSSigningKey, Key: key}
		if c.NATSURL == natsEmbedded {
			o.URL, o.Embedded = "", transport.NewEmbedded(dataDir, key)
		}
		return transport.NewNATS(o)
	case transport.NamePoll:
		return transport.Poll{}, nil
	default:
		return transport.NewListen(d), nil
	}
}
