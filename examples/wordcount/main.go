// Package main is a whole agent: it counts the words of its jobs' bodies.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/api/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := agent.Run(ctx, agent.Options{
		Server:       os.Getenv("FLEETBOARD_URL"),             // such as http://127.0.0.1:8080
		Enrolment:    os.Getenv("FLEETBOARD_ENROLMENT_TOKEN"), // lets a new agent register
		Name:         "wordcount",
		Registration: api.Registration{Factory: api.FactoryInfo{Name: "wordcount"}},
	}, count)
	if err != nil {
		log.Fatal(err)
	}
}

func count(_ context.Context, job *agent.Job) (agent.Result, error) {
	if job.Body == "" {
		// Parks the job until a person answers.
		return agent.Result{}, agent.Ask("Which words are to be counted?")
	}
	words := len(strings.Fields(job.Body))
	return agent.Result{Summary: new(fmt.Sprintf("There are %d words.", words))}, nil
}
