// Package check reads the files of deploy as strictly as the programs that they are for.
package check

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// kinds are those of Kubernetes itself; an operator's are known to the operator only.
var kinds = map[metav1.TypeMeta]func() any{
	{APIVersion: "v1", Kind: "Namespace"}:                  func() any { return &corev1.Namespace{} },
	{APIVersion: "v1", Kind: "Service"}:                    func() any { return &corev1.Service{} },
	{APIVersion: "v1", Kind: "Secret"}:                     func() any { return &corev1.Secret{} },
	{APIVersion: "apps/v1", Kind: "Deployment"}:            func() any { return &appsv1.Deployment{} },
	{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}: func() any { return &policyv1.PodDisruptionBudget{} },
}

// Every manifest has fields of its kind only, each of its type.
func TestManifestsAreOfTheirKinds(t *testing.T) {
	files, err := filepath.Glob("../kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no manifests: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range documents(t, text) {
			checkManifest(t, filepath.Base(name), one)
		}
	}
}

func checkManifest(t *testing.T, name string, text []byte) {
	t.Helper()
	var kind metav1.TypeMeta
	if err := strict.Unmarshal(text, &kind); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if kind.APIVersion == "" || kind.Kind == "" {
		t.Errorf("%s has a document without a kind", name)
	}
	if made := kinds[kind]; made != nil {
		if err := strict.UnmarshalStrict(text, made()); err != nil {
			t.Errorf("%s, %s: %v", name, kind.Kind, err)
		}
	}
}

// What the documents show as YAML is YAML, and where it is of a kind of Kubernetes itself, of that kind.
func TestDocumentsShowYAML(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no documents: %v", err)
	}
	shown := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch(text, -1) {
			for _, one := range documents(t, block[1]) {
				shown++
				var any map[string]any
				if err := strict.UnmarshalStrict(one, &any); err != nil {
					t.Errorf("%s: %v\n%s", page, err, one)
				} else if any["kind"] != nil {
					checkManifest(t, filepath.Base(page), one)
				}
			}
		}
	}
	if shown < 5 {
		t.Errorf("only %d were read", shown)
	}
}

// documents are the parts of a file between lines of three dashes.
func documents(t *testing.T, text []byte) (list [][]byte) {
	t.Helper()
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		one, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, bytes.TrimSpace(one))
	}
}

// The compose file is one by the Compose specification.
func TestTheComposeFileIsOne(t *testing.T) {
	o, err := cli.NewProjectOptions([]string{"../compose/compose.yaml"}, cli.WithName("fleetboard"))
	if err != nil {
		t.Fatal(err)
	}
	project, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(project.Services) != 2 {
		t.Errorf("it has %d services", len(project.Services))
	}
}
