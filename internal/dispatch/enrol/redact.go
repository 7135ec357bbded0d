package enrol

import (
	"encoding/hex"
	"slices"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
)

// redact takes the secrets of jobs that the agent or its factory's agents hold out of
// a registration. A new name that holds one is refused: it cannot be another one. What
// is known already reveals nothing new. Where no job with secrets is held it costs
// nothing.
func (r *registering) redact() error {
	if slices.Contains(bootForms(r.jobs, r.in.BootID), r.agent.BootID) {
		r.in.BootID = r.agent.BootID
	}
	if !r.factory.secretHeld && !r.agent.SecretHeld {
		return nil
	}
	of := secrets.Holders{Agents: []ids.ID{r.agent.ID}, Factories: []ids.ID{r.factory.id}}
	held, err := r.jobs.Secrets.HeldTx(r.ctx, r.tx, r.who.Workspace, of)
	if err != nil {
		return err
	}
	agent, factory, boot := r.in.Agent, r.in.Factory.Name, r.in.BootID
	r.in = r.in.Clone()
	held.HideAll(append(r.in.Texts(), &agent, &factory, &boot)...)
	p := fault.Problems{}
	if r.agent.ID == ids.Nil && agent != r.in.Agent {
		p.Add("agent", "%s", secretName)
	}
	if r.factory.isNew && factory != r.in.Factory.Name {
		p.Add("factory.name", "%s", secretName)
	}
	if boot != r.in.BootID && r.in.BootID != r.agent.BootID {
		r.in.BootID = bootForms(r.jobs, r.in.BootID)[0]
	}
	return p.Err()
}

const secretName = "It must hold no secret of a job that is worked on."

// bootForms returns how a boot id that holds a secret may be kept: as a digest, the first
// under the present key of the server.
func bootForms(list *jobs.Service, boot string) []string {
	var kept []string
	for _, digest := range list.Secrets.Digests([]byte("boot " + boot)) {
		kept = append(kept, "secret-"+hex.EncodeToString(digest))
	}
	return kept
}

// KeptBoot returns the boot id that a call says, as it is kept where it is the boot id of
// the caller's token.
func (s *Service) KeptBoot(said, ofToken string) string {
	if said != ofToken && slices.Contains(bootForms(s.jobs, said), ofToken) {
		return ofToken
	}
	return said
}
