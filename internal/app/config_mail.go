package app

import (
	"fmt"

	"github.com/fleetboard/fleetboard/internal/hooks/notifications"
)

// MailConfig is about e-mails.
type MailConfig struct {
	// SMTPURL is the server that takes e-mails; without it none is sent.
	SMTPURL string `env:"FLEETBOARD_SMTP_URL"`
}

func (c MailConfig) check() error {
	_, err := c.mail()
	return err
}

// mail returns the server that takes e-mails, nil for none.
func (c MailConfig) mail() (*notifications.MailServer, error) {
	if c.SMTPURL == "" {
		return nil, nil
	}
	server, err := notifications.ParseMailServer(c.SMTPURL)
	if err != nil {
		return nil, fmt.Errorf("FLEETBOARD_SMTP_URL: %w", err)
	}
	return server, nil
}
