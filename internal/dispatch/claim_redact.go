package dispatch

import (
	"cmp"

	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/redact"
)

// claimWords are what a claim says for itself, as it is kept: without the secrets of
// jobs that its agent holds already. The digest is nil where the request id is as it
// was said.
type claimWords struct {
	session, request string
	digest           []byte
}

// requestDigests are by which a request is known again whose id held a secret, the one
// that is kept first.
func (a *ask) requestDigests(list *jobs.Service) [][]byte {
	return list.Digests("claim " + a.who.Agent.String() + " " + a.in.RequestID)
}

// words are what the claims say that get something. Agents without another lease cost
// no look at secrets.
func (r *claimRun) words() (map[*ask]claimWords, error) {
	said := map[*ask]claimWords{}
	var holders []ids.ID
	for _, a := range r.asks {
		if len(a.taken) == 0 {
			continue
		}
		said[a] = claimWords{session: a.in.SessionKey, request: a.in.RequestID}
		if a.agent.AgentTaken > 0 && cmp.Or(a.in.SessionKey, a.in.RequestID) != "" {
			holders = append(holders, a.agent.ID)
		}
	}
	if len(holders) == 0 {
		return said, nil
	}
	held, err := r.s.jobs.HeldSecretsTx(r.ctx, r.tx, r.workspace, jobs.Holders{Agents: holders})
	if err != nil {
		return nil, err
	}
	for a, words := range said {
		held.Hide(a.agent.ID, &words.session, &words.request)
		words.session, words.request = redact.Cut(words.session, maxClaimWord), redact.Cut(words.request, maxClaimWord)
		if words.request != a.in.RequestID {
			words.digest = a.requestDigests(r.s.jobs)[0]
		}
		said[a] = words
	}
	return said, nil
}
