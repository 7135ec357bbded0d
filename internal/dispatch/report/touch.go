package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/collisions"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// checkTouched checks paths that an agent touches: inside the repository, as git has them.
func checkTouched(p fault.Problems, field string, list []string) {
	p.TouchedFiles(field, list, collisions.MaxReported, jobs.MaxFile)
	if len(list) > collisions.MaxReported {
		return
	}
	for i, path := range list {
		if len(path) > collisions.MaxPathBytes {
			p.Add(fmt.Sprintf("%s[%d]", field, i), "It must have at most %d bytes.", collisions.MaxPathBytes)
		}
	}
}

// touchLeases compares the files that a heartbeat reports of its leases, after the heartbeat: as many
// transactions as there are leases with files. What is dropped is noted in the answers.
func (s *Service) touchLeases(ctx context.Context, who tenancy.Principal, said []HeartbeatLease, answers []lease.Status) error {
	for _, l := range said {
		if len(l.Files) == 0 {
			continue
		}
		dropped, err := s.touch(ctx, who, lease.Ref{Job: l.Job, Epoch: l.Epoch}, l.Files)
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(answers, func(a lease.Status) bool { return a.Job == l.Job && a.Epoch == l.Epoch }); at >= 0 {
			answers[at].FilesDropped += dropped
		}
	}
	return nil
}

// touch adds files to what the job of a lease touches, and says to whom they collide with others. The
// lease was marked as one that touches files, and that is committed. Where it has ended since, or its
// job has no repo, nothing happens.
func (s *Service) touch(ctx context.Context, who tenancy.Principal, ref lease.Ref, files []string) (dropped int, err error) {
	began := false
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		dropped, began = 0, false
		l, held, err := touchingLease(ctx, tx, who, ref)
		if err != nil || !held || l.repo == "" {
			return err
		}
		red := redact.New()
		if l.hasSecrets {
			if red, err = s.jobs.Secrets.RedactorTx(ctx, tx, who.Workspace, l.job.ID); err != nil {
				return err
			}
		}
		if err := collisions.LockTx(ctx, tx, who.Workspace, l.repo); err != nil {
			return err
		}
		// Once more: it may have ended before the lock was free.
		if l, held, err = touchingLease(ctx, tx, who, ref); err != nil || !held {
			return err
		}
		dropped, began, err = collisions.AddTx(ctx, tx, who, collisions.Touch{Job: l.job, Repo: l.repo, Paths: cleanPaths(red, files)})
		return err
	})
	if began {
		s.wake.Publish(jobs.Topics(who.Workspace)...)
	}
	return dropped, err
}

// cleanPaths returns paths without the values of secrets, each once. One that is too long without
// them is left out.
func cleanPaths(red *redact.Redactor, files []string) []string {
	list := make([]string, 0, len(files))
	for _, path := range files {
		if path = red.Cut(strings.TrimSuffix(path, "/"), jobs.MaxFile); len(path) <= collisions.MaxPathBytes {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
