package jobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
)

// serverKey returns a key of the server; dbtest.Vault has the one of sevens.
func serverKey(b byte) []byte { return bytes.Repeat([]byte{b}, vault.KeySize) }

// withSecrets returns a new job with the inputs of which the named ones are secret.
func withSecrets(title, input string, keys ...string) jobs.New {
	return jobs.New{Spec: jobs.Spec{Title: title}, InputContext: json.RawMessage(input), SecretKeys: keys}
}

// reveal gives the inputs of jobs as the holder of their leases reads them.
func (b *bundle) reveal(list ...jobs.Job) (inputs []string, broken []jobs.Job, err error) {
	b.t.Helper()
	var revealed []jobs.Job
	err = b.db.In(b.t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) (err error) {
		revealed, broken, err = b.RevealTx(b.t.Context(), tx, b.who.Workspace, list)
		return err
	})
	for _, j := range revealed {
		open, err := j.RevealedInput()
		if err != nil {
			b.t.Fatal(err)
		}
		inputs = append(inputs, string(open))
	}
	return inputs, broken, err
}

func TestSecretsAreKeptApart(t *testing.T) {
	b := setup(t)
	j := b.create(withSecrets("a", `{"URL":"https://x","TOKEN":"canary-1","DB":{"password":"canary-2"}}`, "TOKEN", "DB", "TOKEN"))[0]
	for what, one := range map[string]jobs.Job{"created": j, "read again": b.read(j)} {
		if diff := cmp.Diff([]string{"DB", "TOKEN"}, one.SecretKeys); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if got := compact(t, one.InputContext); got != `{"DB":"[secret]","TOKEN":"[secret]","URL":"https://x"}` {
			t.Errorf("%s: the inputs are %s", what, got)
		}
		if one.Secrets != nil {
			t.Errorf("%s: the values came along", what)
		}
	}
	inputs, broken, err := b.reveal(j)
	if err != nil || len(broken) != 0 || inputs[0] != `{"DB":{"password":"canary-2"},"TOKEN":"canary-1","URL":"https://x"}` {
		t.Errorf("the holder reads %v, broken %v, %v", inputs, broken, err)
	}
	// The database has the values nowhere as they are.
	for _, table := range []string{"job", "job_text", "job_secret", "event", "workspace_key"} {
		if dbfactory.Int(t, b.db, `SELECT count(*) FROM `+table+` t WHERE t::text LIKE '%canary%' OR t::text LIKE '%'||encode('canary', 'hex')||'%'`) != 0 {
			t.Errorf("the table %s tells a secret", table)
		}
	}
	plain := b.create(withSecrets("b", `{"URL":"https://x"}`))[0]
	if len(plain.SecretKeys) != 0 || compact(t, plain.InputContext) != `{"URL":"https://x"}` {
		t.Errorf("a job without secrets has %v in %s", plain.SecretKeys, plain.InputContext)
	}
}

// read reads a job again.
func (b *bundle) read(j jobs.Job) jobs.Job {
	b.t.Helper()
	now, err := b.Get(b.t.Context(), b.who, j.Key)
	if err != nil {
		b.t.Fatal(err)
	}
	return now
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSecretKeysAreChecked(t *testing.T) {
	b := setup(t)
	for what, c := range map[string]struct {
		in    jobs.New
		field string
	}{
		"unknown key":   {withSecrets("a", `{"A":"x"}`, "A", "canary"), "secret_keys[1]"},
		"no inputs":     {jobs.New{Spec: jobs.Spec{Title: "a"}, SecretKeys: []string{"canary"}}, "secret_keys[0]"},
		"no object":     {withSecrets("a", `["canary"]`, "A"), "input_context"},
		"empty key":     {withSecrets("a", `{"":"x"}`, ""), "secret_keys[0]"},
		"long key":      {withSecrets("a", `{"`+strings.Repeat("k", 129)+`":"x"}`, strings.Repeat("k", 129)), "secret_keys[0]"},
		"too many":      {withSecrets("a", `{"A":"x"}`, strings.Split(strings.Repeat("A,", 50)+"A", ",")...), "secret_keys"},
		"too long":      {withSecrets("a", `{"A":"x","B":"`+strings.Repeat("y", 16<<10)+`"}`, "A", "B"), "secret_keys[1]"},
		"NUL in an key": {withSecrets("a", `{"\u0000":"x"}`, "\x00"), "input_context"},
	} {
		_, err := b.Create(t.Context(), b.who, nil, c.in)
		f := fault.From(err)
		if f == nil || f.Code != fault.Validation || f.Fields[c.field] == "" {
			t.Errorf("%s: %v, fields %v; want one for %s", what, err, f, c.field)
		}
		if strings.Contains(fmt.Sprint(err, f), "canary") {
			t.Errorf("%s: the refusal repeats what was sent: %v", what, f.Fields)
		}
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM job_secret`); n != 0 {
		t.Errorf("%d secrets of refused jobs are kept", n)
	}
}

// A value that was put elsewhere or changed in the database is refused: its job
// is distinguished from the others.
func TestDamagedSecretsAreRefused(t *testing.T) {
	for what, damage := range map[string]string{
		"moved to another job": `UPDATE job_secret SET sealed = (SELECT sealed FROM job_secret WHERE job_id = $2 AND name = 'A') WHERE job_id = $1 AND name = 'A'`,
		"moved to another name": `UPDATE job_secret s SET sealed = (SELECT sealed FROM job_secret o WHERE o.job_id = s.job_id AND o.name <> s.name)
			WHERE job_id = $1 AND $2::uuid IS NOT NULL`,
		"a bit flipped":   `UPDATE job_secret SET sealed = set_bit(sealed, 100, 1 - get_bit(sealed, 100)) WHERE job_id = $1 AND $2::uuid IS NOT NULL`,
		"another version": `UPDATE job_secret SET sealed = set_byte(sealed, 0, 9) WHERE job_id = $1 AND $2::uuid IS NOT NULL`,
		"cut":             `UPDATE job_secret SET sealed = substr(sealed, 1, 20) WHERE job_id = $1 AND $2::uuid IS NOT NULL`,
		"gone":            `DELETE FROM job_secret WHERE job_id = $1 AND $2::uuid IS NOT NULL`,
		"the wrapped key of another id": `WITH k AS (INSERT INTO workspace_key (workspace_id, id, wrapped, server_key) SELECT workspace_id, 2, wrapped, server_key FROM workspace_key)
			UPDATE job_secret SET key_id = 2 WHERE job_id = $1 AND $2::uuid IS NOT NULL`,
	} {
		t.Run(what, func(t *testing.T) {
			b := setup(t)
			made := b.create(withSecrets("a", `{"A":"one","B":"two"}`, "A", "B"), withSecrets("b", `{"A":"three"}`, "A"))
			dbfactory.Exec(t, b.db, damage, made[0].ID, made[1].ID)
			inputs, broken, err := b.reveal(made...)
			if err != nil || len(broken) != 1 || broken[0].Key != made[0].Key || len(inputs) != 1 || inputs[0] != `{"A":"three"}` {
				t.Errorf("revealed %v, broken %d, %v", inputs, len(broken), err)
			}
			if what == "gone" {
				return // nothing is known of it any more
			}
			err = b.db.In(t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) error {
				_, err := b.Secrets.RedactorTx(t.Context(), tx, b.who.Workspace, made[0].ID)
				return err
			})
			if !errors.Is(err, vault.ErrRefused) {
				t.Errorf("a text would be written without a look for the value: %v", err)
			}
		})
	}
}

// counting counts the statements of a transaction.
type counting struct {
	db.Tx
	n int
}

func (c *counting) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	c.n++
	return c.Tx.Exec(ctx, sql, args...)
}

func (c *counting) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.n++
	return c.Tx.Query(ctx, sql, args...)
}

func (c *counting) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	c.n++
	return c.Tx.QueryRow(ctx, sql, args...)
}

// Jobs without secrets cost a claim nothing; those with secrets one statement
// together, and one more where their key is not in memory yet.
func TestRevealingTakesOneStatement(t *testing.T) {
	b := setup(t)
	var with, without []jobs.New
	for i := range 100 {
		with = append(with, withSecrets(fmt.Sprint("with ", i), fmt.Sprintf(`{"A":"value %d","B":"more"}`, i), "A", "B"))
		without = append(without, withSecrets(fmt.Sprint("without ", i), `{"A":"x"}`))
	}
	plain, secret := b.create(without...), b.create(with...)
	other := jobs.NewService(b.db, b.wakes, dbtest.Vault(b.db), nil) // another process: its memory is empty
	for _, c := range []struct {
		what string
		list []jobs.Job
		want int
	}{{"without", plain, 0}, {"the first with", secret, 2}, {"with", secret, 1}} {
		err := b.db.In(t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) error {
			count := &counting{Tx: tx}
			begin := time.Now()
			revealed, _, err := other.RevealTx(t.Context(), count, b.who.Workspace, c.list)
			t.Logf("%s: %d statements, %v for %d jobs", c.what, count.n, time.Since(begin), len(revealed))
			if count.n != c.want || len(revealed) != len(c.list) {
				t.Errorf("%s: %d statements for %d jobs; want %d", c.what, count.n, len(revealed), c.want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// What is stored of a request to know it again reveals nothing about its secrets,
// and knows it also after the server's key was changed.
func TestTheDigestOfARequestIsKeyed(t *testing.T) {
	b := setup(t)
	asked := []byte("sha-256 of the body")
	in := withSecrets("a", `{"A":"1234"}`, "A")
	first, err := b.Create(t.Context(), b.who, b.Key("k", asked), in)
	if err != nil {
		t.Fatal(err)
	}
	if dbfactory.Int(t, b.db, `SELECT count(*) FROM idempotent_request WHERE digest = $1`, asked) != 0 {
		t.Error("the digest is stored as it was given")
	}
	changed := jobs.NewService(b.db, b.wakes, vault.New(b.db, serverKey(8), serverKey(7)), nil)
	again, err := changed.Create(t.Context(), b.who, changed.Key("k", asked), in)
	if err != nil || !again.Replayed || again.Jobs[0].ID != first.Jobs[0].ID || compact(t, again.Jobs[0].InputContext) != `{"A":"[secret]"}` {
		t.Errorf("the repetition: %+v, %v", again, err)
	}
	if _, err := b.Create(t.Context(), b.who, b.Key("k", []byte("another body")), in); !fault.Is(err, fault.IdempotencyKeyReused) {
		t.Errorf("another body: %v", err)
	}
}

// Secrets go with their job.
func TestSecretsEndWithTheirJob(t *testing.T) {
	b := setup(t)
	made := b.create(withSecrets("a", `{"A":"one"}`, "A"), withSecrets("b", `{"A":"two"}`, "A"))
	dbfactory.Exec(t, b.db, `DELETE FROM job WHERE id = $1`, made[0].ID)
	if left := dbfactory.Text(t, b.db, `SELECT string_agg(job_id::text, ' ') FROM job_secret`); left != made[1].ID.String() {
		t.Errorf("left are the secrets of %s", left)
	}
	dbfactory.Exec(t, b.db, `DELETE FROM workspace WHERE id = $1`, b.who.Workspace)
	if n := dbfactory.Int(t, b.db, `SELECT (SELECT count(*) FROM job_secret) + (SELECT count(*) FROM workspace_key)`); n != 0 {
		t.Errorf("%d secrets and keys are left of a workspace that is gone", n)
	}
}

// A server that was given another key says so, and writes nothing.
func TestAServerWithAnotherKey(t *testing.T) {
	b := setup(t)
	made := b.create(withSecrets("a", `{"A":"one"}`, "A"))
	wrong := &bundle{t: t, db: b.db, who: b.who, wakes: b.wakes, Service: jobs.NewService(b.db, b.wakes, vault.New(b.db, serverKey(8)), nil)}
	if _, _, err := wrong.reveal(made...); !fault.Is(err, fault.Unavailable) {
		t.Errorf("reading: %v", err)
	}
	if _, err := wrong.Create(t.Context(), b.who, nil, withSecrets("b", `{"A":"two"}`, "A")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("writing: %v", err)
	}
	if _, err := wrong.Create(t.Context(), b.who, nil, jobs.New{Spec: jobs.Spec{Title: "c"}}); err != nil {
		t.Errorf("a job without secrets: %v", err)
	}
}

// However a secret is printed, the value does not show.
func TestASecretIsNeverPrinted(t *testing.T) {
	secret := secrets.New(json.RawMessage(`"hunter2"`))
	job := jobs.Job{Key: "FB-1", Secrets: secrets.Set{"TOKEN": secret}}
	type hidden struct{ job jobs.Job } // unexported: fmt cannot ask it for its words
	raw, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("it", "secret", secret, "job", job)
	slog.New(slog.NewTextHandler(&log, nil)).Info("it", "secret", secret, "job", job)
	seen := string(raw) + log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		seen += fmt.Sprintf(verb, secret) + fmt.Sprintf(verb, &secret) + fmt.Sprintf(verb, job) + fmt.Sprintf(verb, hidden{job})
	}
	for _, form := range []string{"hunter2", fmt.Sprintf("%x", "hunter2"), "104 117 110 116"} {
		if strings.Contains(seen, form) {
			t.Errorf("%s shows in %s", form, seen)
		}
	}
	if string(secret.Reveal()) != `"hunter2"` {
		t.Error("the value itself is lost")
	}
}
