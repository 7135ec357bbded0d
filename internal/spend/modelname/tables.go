package modelname

import "regexp"

// The makers, as price lists name them.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
	Google    = "google"
)

// sellers are the providers that sell the makers' models at the makers' prices, as agents
// name them: in small letters, with - for what stands between words.
var sellers = set(Anthropic, OpenAI, Google,
	"claude", "anthropic-vertex", "chatgpt", "codex", "openai-responses", "gemini", "google-ai", "google-ai-studio", "google-genai",
	"google-gemini", "google-generative-ai", "gemini-cli",
	"bedrock", "aws", "aws-bedrock", "amazon", "amazon-bedrock", "bedrock-converse", "bedrock-runtime",
	"vertex", "vertexai", "vertex-ai", "vertex-ai-anthropic", "google-vertex", "google-vertex-ai",
	"google-vertex-anthropic", "google-cloud", "gcp",
	"azure", "azure-openai", "azure-ai", "azure-ai-foundry", "azure-foundry", "azure-cognitive-services", "microsoft-foundry",
	"openrouter", "open-router", "litellm", "vercel", "vercel-ai-gateway")

// places are what may stand before a name, each followed by a slash: sellers, makers and
// the parts of a cloud's path.
var places = set("anthropic", "~anthropic", "openai", "~openai", "google", "~google", "gemini", "models", "bedrock", "amazon-bedrock",
	"bedrock_converse", "converse", "invoke", "vertex", "vertex_ai", "vertex-ai", "google-vertex", "google-vertex-anthropic", "azure",
	"azure_ai", "azure-openai", "responses", "openrouter", "litellm", "us", "eu", "global")

// regions are what a name at Bedrock may begin with.
var regions = []string{"us.", "us-gov.", "eu.", "apac.", "jp.", "au.", "ca.", "sa.", "me.", "af.", "global."}

// vendors are what may follow a region there.
var vendors = []string{"anthropic.", "openai."}

// The paths of clouds around a name.
var (
	// arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-…; custom
	// and provisioned models, and the profiles of applications, do not say what they are.
	amazonPath = regexp.MustCompile(`^arn:aws[a-z-]*:bedrock:[a-z0-9-]*:[0-9]*:(?:foundation-model|inference-profile)/`)
	// projects/p/locations/us-east5/publishers/anthropic/models/claude-…
	googlePath = regexp.MustCompile(`^(?:https?://[a-z0-9.-]+/v1[a-z0-9]*/)?(?:projects/[^/]+/locations/[^/]+/)?` +
		`publishers/(?:anthropic|google)/models/`)
	region = regexp.MustCompile(`^[a-z]{2}(?:-[a-z]+)+-?[0-9]+/`)
)

// endings are what may end a name without making it another model: taken away one after
// another, as long as there is one.
var endings = []*regexp.Regexp{
	regexp.MustCompile(`\[1m\]$`),                                  // Claude Code, the longer context
	regexp.MustCompile(`:(?:beta|thinking|nitro|floor)$`),          // OpenRouter, the same model by other ways
	regexp.MustCompile(`-v[0-9]+(?::[0-9]+(?::[0-9]+k)?)?$`),       // Bedrock, the version of its interface
	regexp.MustCompile(`@(?:20[0-9]{6}|[0-9]{3}|default|latest)$`), // Vertex
	regexp.MustCompile(`-20[0-9]{2}-?[01][0-9]-?[0-3][0-9]$`),      // the day of a snapshot
	regexp.MustCompile(`-(?:latest|thinking)$`),
}

// ofMaker are the endings of one maker's names.
var ofMaker = map[string][]*regexp.Regexp{
	OpenAI: {regexp.MustCompile(`^(?:gpt-5[a-z0-9.-]*|o[0-9](?:-mini)?)(-(?:minimal|low|medium|high|xhigh))$`)},
	Google: {regexp.MustCompile(`(-preview(?:-[0-9]{2}-(?:[0-9]{2}|20[0-9]{2}))?)$`), regexp.MustCompile(`(-00[0-9])$`)},
}

// apart are names that look like a snapshot of a model and have prices of their own.
var apart = set("gpt-4o-2024-05-13", "gemini-2.5-flash-preview-04-17", "gemini-2.5-flash-preview-05-20")

// aliases are names that mean a family's present model.
var aliases = map[string]string{
	"sonnet": "claude-sonnet-4-5", "claude-sonnet": "claude-sonnet-4-5",
	"opus": "claude-opus-4-5", "claude-opus": "claude-opus-4-5",
	"haiku": "claude-haiku-4-5", "claude-haiku": "claude-haiku-4-5",
	"gpt-35-turbo": "gpt-3.5-turbo",
}

// families say who makes a model, by how its name begins.
var families = []struct {
	begins *regexp.Regexp
	maker  string
}{
	{regexp.MustCompile(`^claude-`), Anthropic},
	{regexp.MustCompile(`^(?:gpt-|chatgpt-|codex-|o[0-9])`), OpenAI},
	{regexp.MustCompile(`^gemini-`), Google},
}

// The names of Claude, in the orders that are in use: claude-sonnet-4-5, claude-4.5-sonnet,
// claude-3-5-sonnet, claude-3.7-sonnet. From version 4 on the family comes first.
var (
	claudeFamilyFirst  = regexp.MustCompile(`^claude-(opus|sonnet|haiku)-([0-9]{1,2})(?:[.-]([0-9]{1,2}))?$`)
	claudeVersionFirst = regexp.MustCompile(`^claude-([0-9]{1,2})(?:[.-]([0-9]{1,2}))?-(opus|sonnet|haiku)$`)
	// gemini-2-5-pro, where dots are no letters of names.
	geminiDashed = regexp.MustCompile(`^gemini-([0-9])-([0-9])-`)
	// plain is what a maker's own name is made of: words, and figures with a dot.
	plain = regexp.MustCompile(`^[a-z0-9]+(?:\.[0-9]+)?(?:-[a-z0-9]+(?:\.[0-9]+)?)*$`)
)

func set(words ...string) map[string]bool {
	s := make(map[string]bool, len(words))
	for _, w := range words {
		s[w] = true
	}
	return s
}
