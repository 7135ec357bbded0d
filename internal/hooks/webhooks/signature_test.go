package webhooks

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// What the library of the standard verifies we have signed, with each of the secrets.
func TestTheLibraryOfTheStandardVerifiesWhatWasSigned(t *testing.T) {
	t.Parallel()
	secrets := []Secret{makeSecret(), makeSecret(), makeSecret()}
	bodies := []string{"", "{}", `{"type":"job.created"}`, strings.Repeat("ö\n.", 5000), "a.b.c"}
	for n := 1; n <= 2; n++ {
		for _, body := range bodies {
			h := http.Header{}
			sign(h, "msg_1", time.Now(), []byte(body), secrets[:n]...)
			for i, secret := range secrets {
				reader, err := standard.NewWebhook(secret.Reveal())
				if err != nil {
					t.Fatal(err)
				}
				if err := reader.Verify([]byte(body), h); (err == nil) != (i < n) {
					t.Errorf("%d secrets sign %.20q; by secret %d: %v", n, body, i, err)
				}
				if err := reader.Verify([]byte(body+" "), h); err == nil {
					t.Errorf("another body than %.20q is taken", body)
				}
			}
		}
	}
}

// What the library signs we sign the same.
func TestASignatureIsThatOfTheStandard(t *testing.T) {
	t.Parallel()
	secret := makeSecret()
	writer, err := standard.NewWebhook(secret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	at, h := time.Now(), http.Header{}
	sign(h, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`), secret)
	want, err := writer.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`))
	if err != nil || h.Get("webhook-signature") != want {
		t.Errorf("signed %q, want %q, %v", h.Get("webhook-signature"), want, err)
	}
}

func TestASecretIsReadStrictly(t *testing.T) {
	t.Parallel()
	good := makeSecret().Reveal()
	for text, want := range map[string]bool{
		good: true, "whsec_" + strings.Repeat("AAAA", 8): true, "whsec_" + strings.Repeat("AAAA", 21): true,
		"": false, "whsec_": false, "whsec_AAAA": false, strings.TrimPrefix(good, "whsec_"): false, "WHSEC_" + good[6:]: false,
		"whsec_" + strings.Repeat("AAAA", 22): false, good + "\n": false, good[:len(good)-1]: false, "whsec_" + strings.Repeat("-_-_", 8): false,
	} {
		if secret, ok := parseSecret(text); ok != want || ok && secret.Reveal() != text {
			t.Errorf("%q: %t", text, ok)
		}
	}
}

// However a secret is printed, it is not shown.
func TestASecretDoesNotPrint(t *testing.T) {
	t.Parallel()
	s := makeSecret()
	encoded, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %x %q", s, s, s, s, s, s), s.LogValue().String(), string(encoded),
		fmt.Sprintf("%+v", sender{secrets: []Secret{s}})} {
		if strings.Contains(text, s.Reveal()[6:20]) || strings.Contains(text, fmt.Sprintf("%x", s.bytes()[:6])) ||
			strings.Contains(text, fmt.Sprintf("%d", s.bytes())) {
			t.Errorf("it prints %s", text)
		}
	}
}
