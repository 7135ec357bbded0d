package e2e

import (
	"context"
	"net/http"

	"github.com/fleetboard/fleetboard/api"
)

// client speaks to the API with a token.
func (s *server) client(token string) *api.ClientWithResponses {
	s.t.Helper()
	c, err := api.NewClientWithResponses(s.url+"/api/v1", api.WithHTTPClient(&http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}), api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}))
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// owner speaks as the owner.
func (s *server) owner() *api.ClientWithResponses { return s.client(s.token("owner-token")) }

// agent registers an agent with a factory of its own and speaks as it. change
// says what matters of the registration.
func (s *server) agent(name string, change ...func(*api.Registration)) *api.ClientWithResponses {
	s.t.Helper()
	r := api.Registration{BootID: "boot-of-" + name, MaxConcurrentJobs: number(100),
		Factory: api.FactoryInfo{Name: "factory-of-" + name, Seats: number(100)}}
	for _, c := range change {
		c(&r)
	}
	answer, err := s.client(s.token("enrolment-token")).RegisterAgentWithResponse(s.t.Context(), name, r)
	if err != nil || answer.StatusCode() != http.StatusOK {
		s.t.Fatalf("register %s: %v %s", name, err, body(answer))
	}
	return s.client(answer.JSON200.Token)
}

// submit creates jobs with these titles.
func (s *server) submit(titles ...string) {
	s.t.Helper()
	list := make([]api.NewJob, len(titles))
	for i, title := range titles {
		list[i] = api.NewJob{Title: title}
	}
	answer, err := s.owner().CreateJobsWithResponse(s.t.Context(), nil, api.CreateJobsJSONRequestBody{Jobs: list})
	if err != nil || answer.StatusCode() != http.StatusCreated {
		s.t.Fatalf("submit: %v %s", err, body(answer))
	}
}

// job reads a job.
func (s *server) job(key string) api.Job {
	s.t.Helper()
	answer, err := s.owner().GetJobWithResponse(s.t.Context(), key)
	if err != nil || answer.JSON200 == nil {
		s.t.Fatalf("get %s: %v %s", key, err, body(answer))
	}
	return *answer.JSON200
}

func number[T any](v T) *T { return &v }

// body gives an answer's text, for a message.
func body(answer any) string {
	switch a := answer.(type) {
	case *api.RegisterAgentResponse:
		return string(a.Body)
	case *api.CreateJobsResponse:
		return string(a.Body)
	case *api.GetJobResponse:
		return string(a.Body)
	case *api.ClaimJobsResponse:
		return string(a.Body)
	case *api.CompleteJobResponse:
		return string(a.Body)
	}
	return ""
}
