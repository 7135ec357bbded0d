package notifications

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// MailServer takes e-mails. It is safe for concurrent use.
type MailServer struct {
	host               string
	port               int
	user, password     string
	from               mail.Address
	implicitTLS, plain bool
	roots              *x509.CertPool // nil for those of the system
}

// isMailAddress reports whether an address has the form of a mail server's.
func isMailAddress(u *url.URL) bool {
	return u.Hostname() != "" && (u.Scheme == "smtp" || u.Scheme == "smtps") && strings.Trim(u.Path, "/") == "" && u.Fragment == ""
}

// ParseMailServer reads an address like smtp://user:password@mail.example.com:587?from=fleet@example.com,
// which needs STARTTLS unless it says tls=none, or smtps:// for TLS from the start. Errors name no secret.
func ParseMailServer(text string) (*MailServer, error) {
	u, err := url.Parse(text)
	if err != nil || !isMailAddress(u) {
		return nil, errors.New("must be an address like smtp://user:password@mail.example.com:587?from=fleet@example.com, or smtps://…")
	}
	s := &MailServer{host: u.Hostname(), port: 587, user: u.User.Username(), implicitTLS: u.Scheme == "smtps"}
	s.password, _ = u.User.Password()
	if s.implicitTLS {
		s.port = 465
	}
	if u.Port() != "" {
		if s.port, err = strconv.Atoi(u.Port()); err != nil || s.port < 1 || s.port > 65535 {
			return nil, errors.New("its port must be a number from 1 to 65535")
		}
	}
	in := u.Query()
	for name := range in {
		if name != "from" && name != "tls" {
			return nil, fmt.Errorf("%q is not known: it takes from and tls", name)
		}
	}
	from, err := mail.ParseAddress(in.Get("from"))
	if err != nil {
		return nil, errors.New("needs from=fleet@example.com, the address that e-mails come from")
	}
	s.from = *from
	if s.from.Name == "" {
		s.from.Name = "Fleetboard"
	}
	if err := s.readTLS(in.Get("tls")); err != nil {
		return nil, err
	}
	return s, nil
}

// readTLS reads what is said of TLS: nothing, or "none".
func (m *MailServer) readTLS(said string) error {
	if m.plain = said == "none"; !m.plain && said != "" {
		return errors.New("tls can only be none")
	}
	if m.plain && (m.password != "" || m.implicitTLS) {
		return errors.New("tls=none is for smtp:// without a password, which everybody on the way could read")
	}
	return nil
}

func (m *MailServer) client() (*gomail.Client, error) {
	options := []gomail.Option{gomail.WithPort(m.port), gomail.WithTimeout(sendTimeout),
		gomail.WithTLSConfig(&tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12, RootCAs: m.roots})}
	switch {
	case m.implicitTLS:
		options = append(options, gomail.WithSSL())
	case m.plain:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if m.user != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(m.user),
			gomail.WithPassword(m.password))
	}
	return gomail.NewClient(m.host, options...)
}

var errNoMail = &refusal{text: "This server sends no e-mail: its operator sets FLEETBOARD_SMTP_URL.", final: true}

// sendMail sends parcels over one connection.
func (s *Service) sendMail(ctx context.Context, list []parcel, done func(parcel, error)) {
	fail := func(rest []parcel, err error) {
		for _, p := range rest {
			done(p, err)
		}
	}
	if s.mail == nil {
		fail(list, errNoMail)
		return
	}
	client, err := s.mail.client()
	if err == nil {
		dialled, cancel := context.WithTimeout(ctx, sendTimeout)
		err = client.DialWithContext(dialled)
		cancel()
	}
	if err != nil {
		fail(list, &refusal{text: "The mail server could not be reached, or refused the login.", cause: err})
		return
	}
	defer func() { _ = client.Close() }()
	for n, p := range list {
		if ctx.Err() != nil {
			fail(list[n:], ctx.Err())
			return
		}
		m, err := s.compose(p)
		if err == nil {
			err = mailRefusal(client.Send(m))
		}
		done(p, err)
	}
}

// mailRefusal returns why the server did not take a mail.
func mailRefusal(err error) error {
	if err == nil {
		return nil
	}
	r := &refusal{text: "The mail server did not take it.", cause: err}
	var sent *gomail.SendError
	if errors.As(err, &sent) {
		r.final = !sent.IsTemp() && sent.Reason == gomail.ErrSMTPRcptTo
	}
	return r
}

// compose makes the mail of a parcel. Its id is the same each time.
func (s *Service) compose(p parcel) (*gomail.Msg, error) {
	l := s.letter(p)
	html, err := l.html()
	if err != nil {
		return nil, err
	}
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(&s.mail.from)
	m.ToMailAddress(&mail.Address{Name: oneLine(p.to.name, maxName), Address: p.to.email})
	subject := l.Subject
	if p.thread != "" {
		subject = "Re: " + subject
		m.SetGenHeader(gomail.HeaderReferences, "<"+s.mailID(p.thread)+">")
		m.SetGenHeader(gomail.HeaderInReplyTo, "<"+s.mailID(p.thread)+">")
	}
	m.Subject(subject)
	m.SetMessageIDWithValue(s.mailID(p.id))
	m.SetDate()
	m.SetListUnsubscribe("<" + l.Settings + ">")
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetBodyString(gomail.TypeTextPlain, l.text())
	m.AddAlternativeString(gomail.TypeTextHTML, html)
	return m, nil
}

func (s *Service) mailID(id string) string { return id + "@" + s.public.Hostname() }
