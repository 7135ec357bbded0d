package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Path is where the protocol is spoken.
const Path = "/mcp"

// writeTime is how long an answer may take: the longest wait of a tool and some.
const writeTime = 75 * time.Second

// versions are the revisions of the protocol that are spoken, the newest first. Those before
// them send several messages in one request.
var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18"}

// API carries the tools out.
type API interface {
	http.Handler
	// Admit says whose token the request has, and counts it. Calls in the context of the
	// returned request are the caller's.
	Admit(http.ResponseWriter, *http.Request) (*http.Request, tenancy.Principal, error)
	// Refuse answers a request with a problem.
	Refuse(http.ResponseWriter, *http.Request, error)
}

// Deps are what the server needs.
type Deps struct {
	API API
	// Seen notes that somebody called, and with which program; nil notes nothing.
	Seen func(ctx context.Context, who tenancy.Principal, program string) error
	// Secure says that the server is reached by https.
	Secure bool
	// Version is that of the server, which clients are told.
	Version string
	Log     *slog.Logger
}

// Server answers requests of the protocol. It is an http.Handler.
type Server struct {
	*Deps
	origin *http.CrossOriginProtection
	seats  *quota.Seats
	memory *quota.Budget
	speak  http.Handler // the SDK

	mu      sync.Mutex
	servers map[string]*protocol.Server // by the tools that they have
}

// New returns the server.
func New(d Deps) *Server {
	s := &Server{Deps: &d, origin: http.NewCrossOriginProtection(), seats: quota.NewSeats(),
		memory: quota.NewBudget(bodyBudget, bodyPatience), servers: map[string]*protocol.Server{}}
	sdk := protocol.NewStreamableHTTPHandler(
		func(r *http.Request) *protocol.Server { return findCaller(r.Context()).server },
		&protocol.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxMessage,
			// The edge checks the host's name, and knows by which others the server is reached.
			DisableLocalhostProtection: true, PropagateRequestCancellation: true})
	s.speak = auth.RequireBearerToken(tokenInfo, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(sdk)
	return s
}

// caller is who sends a request, and the request that his calls belong to.
type caller struct {
	who     tenancy.Principal
	server  *protocol.Server
	request *http.Request
}

type callerKey struct{}

// findCaller returns who sends the request of a context.
func findCaller(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}

// tokenInfo hands the caller, who is known, to the tools.
func tokenInfo(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	return &auth.TokenInfo{Extra: map[string]any{"caller": findCaller(ctx)}}, nil
}

// ServeHTTP answers one message.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.serve(w, r); err != nil {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
		}
		w.Header().Set("WWW-Authenticate", `, resource_metadata="`+s.address(r)+metadataPath+Path+`"`)
		s.API.Refuse(w, r, err)
	}
}

// serve answers a message, or refuses it before anything of it was carried out.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	if err := s.origin.Check(r); err != nil {
		return fault.Wrap(err, fault.Forbidden, "This request came from a page of another site, so it was not carried out.")
	}
	admitted, who, err := s.API.Admit(w, r)
	if err != nil {
		return err
	}
	if who.Kind != tenancy.KindPerson && who.Kind != tenancy.KindAgent {
		return fault.New(fault.Forbidden, "Tools need the token of a person or of an agent. This one may only register agents.")
	}
	if r.Method != http.MethodPost {
		return fault.New(fault.MethodNotAllowed, "Send each message with POST; there are no sessions and no streams.")
	}
	leave, full := s.seats.Enter(quota.Askers(who, together)...)
	if full != nil {
		return fault.New(fault.TooMany, "This %s has too many tools at work at once. Wait for their answers.", full.What)
	}
	defer leave()
	share, err := s.readBody(w, admitted, who)
	if err != nil {
		return err
	}
	defer share.End()
	if s.Seen != nil {
		if err := s.Seen(r.Context(), who, program(r)); err != nil {
			return err
		}
	}
	// Where the connection cannot be given more time, the server's own limit holds.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	c := &caller{who: who, server: s.serverFor(who), request: admitted}
	s.speak.ServeHTTP(w, admitted.WithContext(context.WithValue(admitted.Context(), callerKey{}, c)))
	return nil
}

// program returns what the caller's program says that it is, "" where it says nothing.
func program(r *http.Request) string {
	name, _, _ := strings.Cut(r.UserAgent(), " ")
	return name
}

// methods are what is answered of the protocol.
var methods = []string{"initialize", "notifications/initialized", "notifications/cancelled", "ping", "server/discover",
	"tools/list", "tools/call"}

// serverFor returns a server with the tools of a caller. There are as many as kinds of caller.
func (s *Server) serverFor(who tenancy.Principal) *protocol.Server {
	mine := listTools(who)
	names := make([]string, 0, len(mine))
	for _, t := range mine {
		names = append(names, t.name)
	}
	key := string(who.Kind) + " " + strings.Join(names, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	server := s.servers[key]
	if server == nil {
		server = s.build(mine, instructions[who.Kind])
		s.servers[key] = server
	}
	return server
}

func (s *Server) build(tools []*tool, text string) *protocol.Server {
	server := protocol.NewServer(&protocol.Implementation{Name: "fleetboard", Title: "Fleetboard", Version: s.Version},
		&protocol.ServerOptions{Instructions: text, SupportedProtocolVersions: versions, SchemaCache: protocol.NewSchemaCache(),
			Capabilities: &protocol.ServerCapabilities{Tools: &protocol.ToolCapabilities{}}})
	server.AddReceivingMiddleware(onlyTools)
	for _, t := range tools {
		server.AddTool(t.offer(), func(_ context.Context, r *protocol.CallToolRequest) (*protocol.CallToolResult, error) {
			c, ok := r.Extra.TokenInfo.Extra["caller"].(*caller)
			if !ok {
				return nil, fault.New(fault.Internal, "The caller is not known.")
			}
			return s.carryOut(c, t, r.Params.Arguments), nil
		})
	}
	return server
}

// onlyTools answers what the protocol has for tools and nothing else: no subscriptions, which
// would stay open.
func onlyTools(next protocol.MethodHandler) protocol.MethodHandler {
	return func(ctx context.Context, method string, r protocol.Request) (protocol.Result, error) {
		if !slices.Contains(methods, method) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "There is no " + method + " here: only tools."}
		}
		return next(ctx, method, r)
	}
}
