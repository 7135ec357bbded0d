package ui

import (
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// The names of the boxes of a task list.
const (
	taskDone = "Done"
	taskOpen = "Open"
)

// taskBox writes the box of an item of a task list.
type taskBox struct{}

// RegisterFuncs is called by goldmark.
func (taskBox) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(extast.KindTaskCheckBox, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		box := `<input type="checkbox" disabled="" aria-label="` + taskOpen + `"/> `
		if t, ok := n.(*extast.TaskCheckBox); ok && t.IsChecked {
			box = `<input type="checkbox" disabled="" checked="" aria-label="` + taskDone + `"/> `
		}
		_, err := w.WriteString(box)
		return ast.WalkContinue, err
	})
}
