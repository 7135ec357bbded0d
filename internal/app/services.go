package app

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/coordinator/proof"
	"github.com/fleetboard/fleetboard/internal/dispatch"
	"github.com/fleetboard/fleetboard/internal/dispatch/announce"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/merging"
	"github.com/fleetboard/fleetboard/internal/dispatch/verifying"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/eventlog/loss"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/eventlog/witness"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/hooks/notifications"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/jobs/comments"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
	"github.com/fleetboard/fleetboard/internal/leadership/servers"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// Options are what Build needs beside the database.
type Options struct {
	// Key is the server's secret key, Earlier are those that it had before.
	Key     []byte
	Earlier [][]byte
	// HashCost is the cost of a new password hash; the zero value is the default.
	HashCost passwords.Cost
	// Blobs says where contents are stored and how large they may be.
	Blobs blobs.Options
	// Transport carries wake-ups between the processes of the database.
	Transport notifier.Transport
	// IssuerNetworks are where issuers of tokens are asked beside public addresses.
	IssuerNetworks []netip.Prefix
	// PublicURL is where people reach the server.
	PublicURL string
	// Webhooks says where webhooks may lead.
	Webhooks webhooks.Options
	// ReachedAt is PublicURL, or where the server listens.
	ReachedAt string
	// Mail is the server that takes e-mails, nil for none.
	Mail *notifications.MailServer
	// Marks say how far the logs were sealed, DataDir is where the newest events are written down.
	Marks   seal.Store
	DataDir string
	Log     *slog.Logger
}

// Services are the services of one server on one database.
type Services struct {
	Wake        *notifier.Notifier
	Accounts    *accounts.Parts
	Vault       *vault.Vault
	Seals       *seal.Keys
	Events      *eventlog.Log
	Jobs        *jobs.Service
	Attempts    *attempts.Service
	JobLogs     *joblog.Service
	Transcripts *transcript.Service
	Comments    *comments.Service
	JobSearch   *jobsearch.Service
	Words       *jobsearch.Index
	Fleet       *fleet.Service
	Pools       *pools.Service
	Blobs       *blobs.Service
	Dispatch    *dispatch.Service
	Announce    *announce.Service
	Screens     *screens.Service
	Bus         *bus.Service
	Estimates   *estimates.Service
	Budgets     *budgets.Service
	Prices      *prices.Service
	Usage       *usage.Service
	Coordinator *coordinator.Service
	Servers     *servers.List
	Witness     *witness.Witness
	Losses      *loss.Service
	Proof       *proof.Service
	Webhooks    *webhooks.Service
	Notify      *notifications.Service

	log     *slog.Logger
	closing sync.Once
}

// Build makes the services of a server on d. Nothing runs yet: the loops are Wake.Run,
// Announce.Run, Accounts.Tokens.Watch, Servers.Run, Witness.Run, Proof.Run, Webhooks.Run and Coordinator.Run. Close
// ends their subscriptions.
func Build(d *db.DB, o Options) *Services {
	wake, name := notifier.New(o.Transport, o.Log), servers.NewName()
	sealKeys := seal.NewKeys(o.Key, o.Earlier...)
	sealer := seal.New(d, sealKeys)
	people := accounts.New(accounts.Config{
		DB:       d,
		Key:      o.Key,
		Earlier:  o.Earlier,
		Wake:     wake,
		Log:      o.Log,
		Now:      time.Now,
		HashCost: cmp.Or(o.HashCost, passwords.DefaultCost),

		IssuerNetworks: o.IssuerNetworks,
	})
	s := &Services{
		Wake:        wake,
		Accounts:    people,
		Vault:       vault.New(d, o.Key, o.Earlier...),
		Seals:       sealKeys,
		Events:      eventlog.New(d, sealer),
		Attempts:    attempts.NewService(d),
		JobLogs:     joblog.NewService(d),
		Transcripts: transcript.NewService(d),
		JobSearch:   jobsearch.New(d),
		Words:       jobsearch.NewIndex(d, wake),
		Fleet:       fleet.NewService(d, wake),
		Pools:       pools.NewService(d, wake),
		Estimates:   estimates.New(d),
		Prices:      prices.NewService(d, wake),
		Usage:       usage.NewService(d),
		Servers:     servers.New(d, name, Version(), o.Log),
		log:         o.Log,
	}
	o.Blobs.Jobs = lease.Scopes{}
	o.Blobs.Messages = bus.Scopes{}
	s.Blobs = blobs.New(d, s.Vault, o.Blobs)
	s.Jobs = jobs.NewService(d, wake, s.Vault, sealer)
	s.Comments = comments.NewService(d, s.Jobs, s.Blobs)
	s.Dispatch = dispatch.New(d, s.Jobs, wake, people.Tokens, s.Blobs, s.Servers.Count, o.Log)
	s.Announce = announce.New(d, wake, broker(o.Transport), o.Log)
	s.Dispatch.AnnounceOffers(s.Announce.Announcer())
	s.Screens = screens.New(d, s.Events, wake, o.Log)
	s.Bus = bus.NewService(d, wake, s.Jobs.Secrets, s.Blobs, s.Servers.Count)
	s.Budgets = budgets.NewService(d, wake, s.Dispatch)
	o.Webhooks.Instance = name
	s.Webhooks = webhooks.NewService(d, wake, s.Vault, s.Events, o.Webhooks, o.Log)
	s.Notify = notifications.New(d, wake, notifications.Options{Key: o.Key, Earlier: o.Earlier,
		PublicURL: cmp.Or(o.ReachedAt, o.PublicURL), Mail: o.Mail, Allow: o.Webhooks.Allow, Resolver: o.Webhooks.Resolver, Log: o.Log})
	s.Coordinator = coordinator.New(d, name, coordinator.Work{
		Recovery:      s.Dispatch,
		Promotion:     s.Dispatch,
		Stops:         s.Dispatch,
		Pools:         s.Pools,
		Ageing:        s.Dispatch,
		Preempt:       s.Dispatch,
		People:        people,
		Events:        s.Events,
		JobLogs:       s.JobLogs,
		Transcripts:   s.Transcripts,
		Decisions:     s.Dispatch,
		Dead:          s.Announce,
		Words:         s.Words,
		Secrets:       s.Jobs.Secrets,
		Seals:         sealer,
		Costs:         s.Estimates,
		Prices:        s.Dispatch,
		Budgets:       s.Budgets,
		Merges:        merging.New(d, s.Jobs, s.Dispatch, o.PublicURL, o.Log),
		Verifications: verifying.New(d, s.Dispatch),
		Blobs:         s.Blobs,
		Messages:      s.Bus,
		Webhooks:      s.Webhooks,
		Notify:        s.Notify,
	}, wake, o.Log)
	s.Losses = loss.New(d, wake, name)
	s.Witness = witness.New(d, sealKeys, wake, o.DataDir, o.Log)
	s.Proof = proof.New(d, s.Witness, func(ctx context.Context) (audit.Seals, error) {
		return seal.NewVerifier(ctx, d, sealKeys, o.Marks)
	}, s.Losses, name, o.Log)
	return s
}

// broker returns what keeps offers until they have ended; nil where wake-ups travel over no broker.
func broker(t notifier.Transport) announce.Broker {
	if over, ok := t.(*transport.NATS); ok {
		return over.Offers(transport.Redelivery{})
	}
	return nil
}

// Pages returns what the pages need of the services.
func (s *Services) Pages() handlers.Deps {
	return handlers.Deps{Accounts: s.Accounts, Jobs: s.Jobs, Attempts: s.Attempts, JobLogs: s.JobLogs,
		Transcripts: s.Transcripts, Comments: s.Comments, JobSearch: s.JobSearch, Fleet: s.Fleet, Pools: s.Pools,
		Dispatch: s.Dispatch, Announce: s.Announce, Screens: s.Screens, Bus: s.Bus, Events: s.Events, Budgets: s.Budgets, Prices: s.Prices,
		Usage: s.Usage, Estimates: s.Estimates, Coordinator: s.Coordinator, Servers: s.Servers, Proof: s.Proof, Losses: s.Losses,
		Blobs: s.Blobs, Webhooks: s.Webhooks, Notify: s.Notify, Log: s.log}
}

// API returns what the API needs of the services.
func (s *Services) API() api.Deps {
	return api.Deps{Tokens: s.Accounts.Tokens, Issuers: s.Accounts.Issuers, Jobs: s.Jobs, Attempts: s.Attempts, JobLogs: s.JobLogs,
		Transcripts: s.Transcripts, Comments: s.Comments, JobSearch: s.JobSearch, Fleet: s.Fleet, Pools: s.Pools,
		Dispatch: s.Dispatch, Announce: s.Announce, Screens: s.Screens, Bus: s.Bus, Events: s.Events, Budgets: s.Budgets, Prices: s.Prices,
		Usage: s.Usage, Estimates: s.Estimates, Coordinator: s.Coordinator, Servers: s.Servers, Proof: s.Proof, Losses: s.Losses,
		Blobs: s.Blobs, Webhooks: s.Webhooks, Notify: s.Notify, Wake: s.Wake, Log: s.log}
}

// Close ends every wait and every subscription.
func (s *Services) Close() {
	s.closing.Do(func() {
		s.Screens.Close()
		s.Bus.Close()
		s.Words.Close()
		s.Announce.Close()
		s.Notify.Close()
		s.Dispatch.Close()
	})
}
