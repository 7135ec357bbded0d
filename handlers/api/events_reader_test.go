package api_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const invited = "zoe-invited@example.org"

// untilSeen returns the types of a stream from the beginning of the log on, up to
// the creation of a job, and all of what was sent.
func (s *liveServer) untilSeen(token, job string) (types []string, text string) {
	s.w.t.Helper()
	from := s.open(token, "?after=0-0")
	defer from.leave()
	for {
		m := from.next(isEvent)
		types, text = append(types, m.event), text+m.data+"\n"
		if m.event == "job.created" && of(job)(m) {
			return types, text
		}
	}
}

// pages returns the types of the whole log, read in pages of so many events.
func (w *apiServer) pages(token, limit string) (types []string, text string) {
	w.t.Helper()
	for at := "0-0"; ; {
		page := w.as(token, "GET", "/events?limit="+limit+"&after="+url.QueryEscape(at), nil).want(200)
		for i := range page.count("items") {
			types = append(types, page.text("items", i, "type"))
		}
		text += string(page.raw)
		next := page.text("next_after")
		if next == at {
			return types, text
		}
		at = next
	}
}

// Settings are the people's: an agent reads what happens to jobs and in the
// fleet, not who was invited or which tokens there are, by the list, by the
// stream and whatever it selects. Members read them, and whom somebody invited
// only where they may see it on the page of members too.
func TestAgentsReadNothingOfSettings(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	owner := w.person()
	agent, first := w.agent("ada"), w.job("First")
	_, link, err := w.accounts.Members.Invite(t.Context(), owner, invited, tenancy.RoleAdmin)
	if err == nil {
		err = w.accounts.Members.RevokeInvitation(t.Context(), owner, link.ID)
	}
	if err == nil {
		err = w.accounts.Workspaces.Rename(t.Context(), owner, "Renamed")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, viewer := w.guest()
	w.as(w.owner, "PUT", "/products/ledger", object{"repos": []string{"ledger-api"}}).want(201)
	w.claim(agent)
	last := w.job("Last")
	s := newLiveServer(w)

	settings := []string{"member.invited", "invitation.revoked", "workspace.renamed", "token.issued", "product.saved"}
	work := []string{"agent.registered", "job.created", "job.claimed", "job.created"}
	for who, c := range map[string]struct {
		token           string
		settings, email bool
	}{
		"agent":  {token: agent},
		"viewer": {token: viewer, settings: true},
		"owner":  {token: w.owner, settings: true, email: true},
	} {
		streamed, text := s.untilSeen(c.token, last)
		for _, limit := range []string{"1", "3", "200"} {
			listed, more := w.pages(c.token, limit)
			if !slices.Equal(listed, streamed) {
				t.Errorf("%s, in pages of %s: %v; the stream had %v", who, limit, listed, streamed)
			}
			text += more
		}
		if !c.settings && !slices.Equal(streamed, work) {
			t.Errorf("%s reads %v; want %v and nothing else", who, streamed, work)
		}
		for _, kind := range settings {
			if slices.Contains(streamed, kind) != c.settings {
				t.Errorf("%s reads %s: %t", who, kind, !c.settings)
			}
		}
		if strings.Contains(text, invited) != c.email {
			t.Errorf("%s reads whom somebody invited: %t", who, !c.email)
		}
	}
	for _, ask := range []string{"?type=member.*&type=token.*&type=product.*", "?type=workspace.renamed"} {
		if page := w.as(agent, "GET", "/events"+ask, nil).want(200); page.count("items") != 0 {
			t.Errorf("an agent asks for %s and gets %s", ask, page.raw)
		}
	}
	if page := w.as(agent, "GET", "/events?job="+first, nil).want(200); page.count("items") != 2 {
		t.Errorf("an agent reads of the job: %s; want its creation and its claim", page.raw)
	}
}
