// Package agent is the loop of an agent: it registers, claims jobs, keeps their leases alive with
// heartbeats, calls a function for each job, and reports what came of it. A program gives Run an
// enrolment token and that function:
//
//	err := agent.Run(ctx, agent.Options{Server: url, Enrolment: token, Name: "ada",
//		Registration: api.Registration{Factory: api.FactoryInfo{Name: "desk"}}},
//		func(ctx context.Context, job *agent.Job) (agent.Result, error) { … })
//
// docs/agents.md describes what an agent and the server owe each other. The loop keeps all of it but
// `next` and deliveries that follow a report. While the server is away it goes on trying, ever more
// slowly; work goes on meanwhile, as long as its lease lasts.
package agent
