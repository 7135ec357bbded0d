package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/bus"
)

// exportHandlers answer the calls about exports.
type exportHandlers struct{ *Deps }

// ListExports lists the exports.
func (s *exportHandlers) ListExports(ctx context.Context, _ ListExportsRequestObject) (ListExportsResponseObject, error) {
	found, err := s.Bus.Exports(ctx, principal(ctx))
	return ListExports200JSONResponse{Items: list(found)}, err
}

// CreateExport makes an export.
func (s *exportHandlers) CreateExport(ctx context.Context, r CreateExportRequestObject) (CreateExportResponseObject, error) {
	e, err := s.Bus.CreateExport(ctx, principal(ctx), r.Body.Name, bus.Source(r.Body.Source), callFrom(ctx).once)
	return CreateExport200JSONResponse(e), err
}

// ReadExport reads what follows an export's position.
func (s *exportHandlers) ReadExport(ctx context.Context, r ReadExportRequestObject) (ReadExportResponseObject, error) {
	lines, position, err := s.Bus.Next(ctx, principal(ctx), r.Export, value(r.Params.After), limit(r.Params.Limit))
	return ReadExport200JSONResponse{Items: mapSlice(lines, exportLineModel), Position: position}, err
}

// AckExport moves an export's position on.
func (s *exportHandlers) AckExport(ctx context.Context, r AckExportRequestObject) (AckExportResponseObject, error) {
	e, err := s.Bus.AckExport(ctx, principal(ctx), r.Export, r.Body.Position)
	return AckExport200JSONResponse(e), err
}

// ResetExport moves an export's position back.
func (s *exportHandlers) ResetExport(ctx context.Context, r ResetExportRequestObject) (ResetExportResponseObject, error) {
	e, err := s.Bus.ResetExport(ctx, principal(ctx), r.Export, r.Body.Position, callFrom(ctx).once)
	return ResetExport200JSONResponse(e), err
}

// DeleteExport removes an export.
func (s *exportHandlers) DeleteExport(ctx context.Context, r DeleteExportRequestObject) (DeleteExportResponseObject, error) {
	return DeleteExport204Response{}, s.Bus.DeleteExport(ctx, principal(ctx), r.Export, value(r.Params.Confirm))
}

func exportLineModel(l bus.Line) ExportLine {
	out := ExportLine{Position: l.Position}
	if l.Message != nil {
		m := messageModel(*l.Message)
		out.Message = &m
	}
	if l.Event != nil {
		e := eventModel(*l.Event, l.Event.JobKey)
		out.Event = &e
	}
	return out
}
