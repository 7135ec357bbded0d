package app

import (
	"net/http"

	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/handlers/mcp"
)

// answerTools answers agent programs that call tools. The tools are calls of the API.
func (a *App) answerTools(mux *http.ServeMux, calls *api.Server, cfg Config) {
	tools := mcp.New(mcp.Deps{API: calls, Seen: a.services.Accounts.Tokens.SeeTools, Secure: cfg.Secure(), Version: build().Server,
		Log: a.log})
	mux.Handle(mcp.Path, tools)
	for _, path := range mcp.MetadataPaths {
		mux.HandleFunc(path, tools.Metadata)
	}
}
