package db_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// programs returns the sources of the server in this repository, without tests.
func programs(t *testing.T, roots ...string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join("..", root), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			files[strings.TrimPrefix(filepath.ToSlash(path), "../")] = f
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Nothing that this package shows leads to the pool or to a connection of it.
// The one connection that is given out is not the pool's: it is for LISTEN and
// NOTIFY, is in no workspace, and has its one user.
func TestThePoolIsPrivate(t *testing.T) {
	t.Parallel()
	var open []string
	for path, f := range programs(t, "db") {
		if filepath.Dir(path) != "db" {
			continue
		}
		for _, d := range f.Decls {
			for _, shown := range shownTypes(d) {
				parts := strings.ReplaceAll(shown, "pgconn.CommandTag", "")
				if strings.Contains(parts, "pgxpool.") || strings.Contains(parts, "pgx.Conn") || strings.Contains(parts, "pgconn.") {
					open = append(open, shown)
				}
			}
		}
	}
	if diff := cmp.Diff([]string{"Listen: func(ctx context.Context) (*pgx.Conn, error)"}, open); diff != "" {
		t.Errorf("what shows a connection (-want +got):\n%s", diff)
	}
}

// shownTypes returns the types that a declaration shows to other packages.
func shownTypes(d ast.Decl) (list []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() {
			list = append(list, d.Name.Name+": "+types.ExprString(d.Type))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && s.Type != nil {
					list = append(list, s.Names[0].Name+": "+types.ExprString(s.Type))
				}
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					list = append(list, typeParts(s)...)
				}
			}
		}
	}
	return list
}

func typeParts(s *ast.TypeSpec) (list []string) {
	body, ok := s.Type.(*ast.StructType)
	if !ok {
		return []string{s.Name.Name + ": " + types.ExprString(s.Type)}
	}
	for _, f := range body.Fields.List {
		if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
			list = append(list, s.Name.Name+": "+types.ExprString(f.Type))
		}
	}
	return list
}

// scoping is SQL that would change what a transaction sees.
var scoping = regexp.MustCompile(`(?i)set_config|current_setting|\bSET\s+(LOCAL|SESSION|ROLE)\s+[^=\s]|\bRESET\s+(ALL|ROLE|SESSION|\w+_\w+)|row_security|app\.(workspace_id|account_id|token_hash)`)

// Whoever is above this package queries in a transaction of one of the kinds.
// Nobody makes a pool, goes behind a transaction to its connection, or changes a
// scope from inside.
func TestEveryQueryRunsInAScope(t *testing.T) {
	t.Parallel()
	files := programs(t, "cmd", "internal", "handlers", "views")
	if len(files) < 100 {
		t.Fatalf("only %d files were looked at", len(files))
	}
	for path, f := range files {
		assertScoped(t, path, f)
	}
	queries, err := filepath.Glob("queries/*.sql")
	if err != nil || len(queries) < 20 {
		t.Fatalf("%d files of queries, %v", len(queries), err)
	}
	for _, path := range queries {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if found := scoping.Find(text); found != nil {
			t.Errorf("%s says %s", path, found)
		}
	}
}

func assertScoped(t *testing.T, path string, f *ast.File) {
	t.Helper()
	for _, i := range f.Imports {
		name, _ := strconv.Unquote(i.Path.Value)
		if name == "database/sql" || strings.HasPrefix(name, "github.com/jackc/pgx/v5/pgxpool") || strings.HasPrefix(name, "github.com/jackc/pgx/v5/stdlib") {
			t.Errorf("%s imports %s", path, name)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			to, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			call := types.ExprString(to)
			behind := to.Sel.Name == "Conn" && len(n.Args) == 0
			listens := to.Sel.Name == "Listen" && len(n.Args) == 1 && filepath.Dir(path) != "internal/transport"
			connects := slices.Contains([]string{"pgx.Connect", "pgx.ConnectConfig", "pgconn.Connect", "pgconn.ConnectConfig"}, call)
			if behind || listens || connects {
				t.Errorf("%s calls %s", path, call)
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && scoping.MatchString(n.Value) && !strings.HasPrefix(path, "views/") {
				t.Errorf("%s says %s", path, n.Value)
			}
		}
		return true
	})
}
