package bus_test

import (
	"io"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// withBlobs has a bus keep large payloads.
func (p *post) withBlobs(o blobs.Options) *blobs.Service {
	p.T.Helper()
	o.Messages = bus.Scopes{}
	contents := blobs.New(p.DB, dbtest.Vault(p.DB), o)
	p.start(contents)
	return contents
}

// content reads the blob of a message.
func (p *post) content(contents *blobs.Service, who tenancy.Principal, m bus.Message) string {
	p.T.Helper()
	sum, err := blobs.ParseSum(m.Blob)
	if err != nil {
		p.T.Fatalf("%q of %s: %v", m.Blob, m.ID, err)
	}
	r, err := contents.Open(p.Ctx, who, sum)
	if err != nil {
		p.T.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err != nil {
		p.T.Fatal(err)
	}
	return string(all)
}

// A large payload is a blob that the reader of the message reads, and nobody else; sent
// again under its id it is the same message, and nothing is stored for it.
func TestALargePayloadBecomesABlob(t *testing.T) {
	p := newPost(t)
	contents := p.withBlobs(blobs.Options{MaxTotal: 300 << 10})
	ada, bob, eve := p.as("ada"), p.as("bob"), p.as("eve")
	large, exact := note(agent("bob"), strings.Repeat("long ", 40<<10)), note(agent("bob"), strings.Repeat("x", bus.MaxPayload-len(`{"text":""}`)))
	large.ID = ids.New()
	sent := p.send(ada, note(agent("bob"), "short"), large, exact)
	got := p.read(bob, bus.Query{})
	if len(got.Messages) != 3 || got.Messages[0].Blob != "" || got.Messages[2].Blob != "" || len(got.Messages[1].Payload) > 0 {
		t.Fatalf("got %+v", got.Messages)
	}
	if sent[1].Blob != got.Messages[1].Blob || len(sent[1].Payload) > 0 {
		t.Errorf("the sender was told %+v", sent[1])
	}
	for _, who := range []tenancy.Principal{bob, p.Owner, ada} {
		if said := p.content(contents, who, got.Messages[1]); said != string(large.Payload) {
			t.Errorf("%s reads %d bytes", who.Name, len(said))
		}
	}
	sum, _ := blobs.ParseSum(sent[1].Blob)
	if _, err := contents.Open(p.Ctx, eve, sum); !fault.Is(err, fault.NotFound) {
		t.Errorf("eve, who has no such message: %v", err)
	}

	// There is no space for another one of its size; a repeat needs none.
	if again := p.send(ada, large)[0]; again.New || again.Seq != sent[1].Seq || again.Blob != sent[1].Blob {
		t.Errorf("again it is %+v", again)
	}
	other := large
	other.Payload = []byte(`{"text":"` + strings.Repeat("other ", 30<<10) + `"}`)
	if _, err := p.bus.Publish(p.Ctx, ada, other); !fault.Is(err, fault.IdempotencyKeyReused) {
		t.Errorf("another message under the id: %v", err)
	}
	other.ID = ids.Nil
	_, err := p.bus.Publish(p.Ctx, ada, note(agent("bob"), "short"), other)
	if f := fault.From(err); f.Code != fault.StorageFull || f.Fields["messages[1].payload"] == "" {
		t.Errorf("without room: %v with the fields %v", err, f.Fields)
	}
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM message`); n != 3 {
		t.Errorf("%d messages were written", n)
	}
}

// Whoever may not send stores nothing.
func TestALargePayloadOfWhomMayNotSend(t *testing.T) {
	p := newPost(t)
	large := note(agent("ada"), strings.Repeat("x", bus.MaxPayload))
	p.as("ada")
	if _, err := p.bus.Publish(p.Ctx, p.Owner, large); !fault.Is(err, fault.Validation) {
		t.Errorf("where there are no blobs: %v", err)
	}
	p.withBlobs(blobs.Options{})
	if _, err := p.bus.Publish(p.Ctx, p.member(tenancy.RoleViewer), large); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a viewer: %v", err)
	}
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM blob_data`); n != 0 {
		t.Errorf("%d uploads were begun", n)
	}
}

// The values of a job's secrets do not leave by large messages either, and the blob of the
// agent that holds them is sealed.
func TestSecretsAreTakenOutOfLargePayloads(t *testing.T) {
	p := newPost(t)
	contents := p.withBlobs(blobs.Options{})
	ada := p.as("ada")
	p.Job("deploy", func(n *jobs.New) {
		n.InputContext, n.SecretKeys = []byte(`{"token":"hunter2-hunter2"}`), []string{"token"}
	})
	p.Claim(ada)
	large := note(agent("ada"), strings.Repeat("it is hunter2-hunter2 ", 1000))
	large.ID = ids.New()
	said := p.content(contents, p.Owner, p.send(ada, large)[0].Message)
	if strings.Contains(said, "hunter2") || !strings.Contains(said, "it is ") {
		t.Errorf("the blob says %.80s", said)
	}
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM blob_data WHERE sealed_key IS NOT NULL`); n != 1 {
		t.Errorf("%d blobs are sealed", n)
	}
	dbfactory.Exec(t, p.DB, `DELETE FROM job_secret`)
	if again := p.send(ada, large)[0]; again.New {
		t.Error("the repeat is another message once the secrets are gone")
	}
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM blob`); n != 1 {
		t.Errorf("%d blobs", n)
	}
}
