package api_test

import "testing"

// In mode targeted an agent hears what is offered to its factory, with heartbeats and claims.
func TestOffersAreTold(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, bea := w.agent("ada", object{"capabilities": []string{"gpu"}}), w.agent("bea", object{"factory": object{"name": "bare", "seats": 9}})
	beat := func() answer {
		return w.as(bea, "POST", "/agents/bea/heartbeat", object{"boot_id": "bea-boot", "status": "idle"}).want(200)
	}
	w.as(w.owner, "PUT", "/dispatch", object{"mode": "targeted"}).want(200)
	one, two := w.job("one"), w.job("two")
	w.as(ada, "POST", "/fleet/claim", object{"max": 2}).want(204)
	offers := func(a answer) int {
		list, _ := a.at("offers").([]any)
		return len(list)
	}
	got := beat()
	if offers(got) != 2 || got.text("offers", 0, "job") != one || got.text("offers", 0, "expires_at") == "" || got.at("offers", 0, "score") == nil {
		t.Errorf("heartbeat: %s", got.raw)
	}
	claimed := w.as(bea, "POST", "/fleet/claim", object{}).want(200)
	if claimed.text("jobs", 0, "key") != one || offers(claimed) != 1 || claimed.text("offers", 0, "job") != two {
		t.Errorf("claim: %s", claimed.raw)
	}
	w.as(w.owner, "PUT", "/dispatch", object{"mode": "pull"}).want(200)
	if got := beat(); offers(got) != 0 {
		t.Errorf("heartbeat in mode pull: %s", got.raw)
	}
	if got := w.as(ada, "POST", "/fleet/claim", object{}).want(200); got.text("jobs", 0, "key") != two {
		t.Errorf("claim in mode pull: %s", got.raw)
	}
}
