package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples are those of commands that show none of their own, by the command without `fleet`.
// Lines of one command stand below each other.
var examples = map[string]string{
	"agent jobs":       "agent jobs ada",
	"agent list":       "agent list --health healthy",
	"agent show":       "agent show ada",
	"agent terminate":  "agent terminate ada --graceful --reason \"The host is needed\"",
	"backlog block":    "backlog block --id FB-1 --reason \"Waits for the contract\"",
	"backlog claim":    "backlog claim --repo hello",
	"backlog complete": "backlog complete --id FB-1",
	"backlog create":   "backlog create --title \"Add a licence\" --repo hello",
	"backlog link":     "backlog link --from FB-2 --to FB-1",
	"backlog list":     "backlog list --status claimed",
	"backlog reclaim":  "backlog reclaim --id FB-1",
	"backlog stats":    "backlog stats",
	"blob get":         "blob get 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae -o report.pdf",
	"blob put":         "blob put report.pdf",
	"budget list":      "budget list",
	"budget raise":     "budget raise \"Payments, by the day\" 20 --until +2h --reason \"The release\"",
	"budget show":      "budget show \"Payments, by the day\"",
	"budget transfer":  "budget transfer \"Platform\" \"Payments\" 10 --reason \"The release\"",
	"bus archives":     "bus archives",
	"bus export":       "bus export disk --source events -o events.jsonl --follow",
	"bus exports":      "bus exports",
	"bus remove":       "bus remove disk --confirm disk",
	"bus reset":        "bus reset disk 1200",
	"bus tail":         "bus tail disk --follow",
	"completion":       "completion bash > ~/.local/share/bash-completion/completions/fleet",
	"context list":     "context list",
	"context remove":   "context remove staging",
	"context use":      "context use staging",
	"demo":             "demo --dir ~/demo --pace 2s",
	"doctor":           "doctor\ndoctor --server https://fleetboard.example.com",
	"events":           "events --type 'job.*' --since 2h\nevents --job FB-1 --follow",
	"exit-codes":       "help exit-codes",
	"factory drain":    "factory drain atlas",
	"factory list":     "factory list --jq '.items[] | select(.live) | .name'",
	"factory remove":   "factory remove atlas",
	"factory show":     "factory show atlas",
	"factory undrain":  "factory undrain atlas",
	"import beads":     "import beads issues.jsonl --product payments --dry-run",
	"import github":    "import github issues.json --repo hello --draft",
	"import markdown":  "import markdown PLAN.md --repo hello",
	"job answer":       "job answer FB-1 \"Yes, keep the old field for a month\"",
	"job approve":      "job approve FB-1 FB-2",
	"job archive":      "job archive FB-1",
	"job ask":          "job ask FB-1 \"May the old field be renamed?\"",
	"job block":        "job block FB-1 --reason \"Waits for the contract\"",
	"job cancel":       "job cancel FB-1 --reason \"Nobody needs it any more\"",
	"job claim":        "job claim --repo hello\njob claim FB-1 --repo hello --wait 30",
	"job comment": "job comment FB-1 --commit 9be04d1 --path main.go --line 12 \"Why twice?\"\n" +
		"job comment FB-1 --reply 0190a7c2-7c1b-7d6e-9d2f-3b1c5a6d7e8f \"Done\"",
	"job comments": "job comments FB-1",
	"job reopen":   "job reopen 0190a7c2-7c1b-7d6e-9d2f-3b1c5a6d7e8f",
	"job resolve":  "job resolve 0190a7c2-7c1b-7d6e-9d2f-3b1c5a6d7e8f",
	"job complete": "job complete FB-1 --commit \"$(git rev-parse HEAD)\" --summary \"The licence is there\"",
	"job create": "job create \"Add a licence\" --repo hello --body \"MIT, this year\"\n" +
		"key=$(fleet job create \"Add a licence\" --repo hello --quiet)",
	"job collisions":    "job collisions FB-1",
	"job decisions":     "job decisions FB-1",
	"job explain":       "job explain FB-1",
	"job fail":          "job fail FB-1 --error \"The tests fail\" --kind checks_failed",
	"job link":          "job link FB-2 FB-1",
	"job list":          "job list --status in_review,blocked\njob list --jq '.items[] | .key + \" \" + .title'",
	"job logs":          "job logs FB-1 --follow",
	"job steps":         "job steps FB-1 --kind tool,edit --follow",
	"job merge":         "job merge FB-1 --commit \"$(git rev-parse HEAD)\"",
	"job pause":         "job pause FB-1",
	"job progress":      "job progress FB-1 --percent 40 --step \"tests\"",
	"job rank":          "job rank FB-2 --before FB-1",
	"job reclaim":       "job reclaim FB-1",
	"job reject":        "job reject FB-1 --reason \"Please add a test\"",
	"job release":       "job release FB-1 --reason \"Somebody else knows it better\"",
	"job renew":         "job renew FB-1 --ttl 1800",
	"job resume":        "job resume FB-1",
	"job retry":         "job retry FB-1",
	"job stats":         "job stats",
	"job unblock":       "job unblock FB-1",
	"job unlink":        "job unlink FB-2 FB-1",
	"job verifications": "job verifications FB-1\njob verifications FB-1 --jq '.items[0].findings[] | .severity + \" \" + .path'",
	"login":             "login https://fleetboard.example.com\nlogin https://fleetboard.example.com --name work --token-file token",
	"logout":            "logout --context work",
	"mcp":               "mcp",
	"msg ack":           "msg ack 1200",
	"msg dead discard":  "msg dead discard 01a21520-8a52-7273-af68-350502cc2bd8",
	"msg dead list":     "msg dead list",
	"msg dead redrive":  "msg dead redrive 01a21520-8a52-7273-af68-350502cc2bd8",
	"msg inbox":         "msg inbox --type custom.note",
	"msg search":        "msg search rollback",
	"msg send":          "msg send --to role:reviewer --job FB-1 \"Please look at the migration\"",
	"msg thread":        "msg thread FB-1",
	"msg watch":         "msg watch --ack",
	"pool demand":       "pool demand linux",
	"pool history":      "pool history linux",
	"issuer enrol": "issuer enrol runner-1 --issuer 0197b3c2-8d1f-7a64-9c55-2f6f3f1f9e01 --token-file " +
		"/var/run/secrets/fleetboard/token",
	"issuer list":   "issuer list",
	"issuer remove": "issuer remove github",
	"issuer set": "issuer set github --url https://token.actions.githubusercontent.com --audience fleetboard " +
		"--claim repository_id=1296269 --claim environment=agents",
	"issuer show":             "issuer show github",
	"pool list":               "pool list",
	"pool remove":             "pool remove linux",
	"pool set":                "pool set linux --os linux --engine claude --repo hello --seats 2 --max 4",
	"pool show":               "pool show linux",
	"product list":            "product list",
	"product preview":         "product preview payments --max-lines 100",
	"product remove":          "product remove payments",
	"product set":             "product set payments --add-repo ledger-api --review --merge-by worker",
	"product show":            "product show payments",
	"coordinator note-losses": "coordinator note-losses",
	"coordinator status":      "coordinator status --json",
	"notifications show":      "notifications show",
	"notifications set":       "notifications set --by email,browser --quiet 22:00-07:00 --timezone Europe/Berlin",
	"notifications test":      "notifications test",
	"notifications browsers":  "notifications browsers",
	"notifications forget":    "notifications forget 01980b5e-1c57-7000-8000-000000000001",
	"dispatch dead":           "dispatch dead",
	"dispatch divergence":     "dispatch divergence --since 7d",
	"dispatch set":            "dispatch set --product-weight billing=3 --ageing-minutes 60",
	"dispatch show":           "dispatch show",
	"release":                 "release\nrelease billing",
	"sim":                     "sim --factories 5 --agents 20",
	"stop": "stop --hold all --reason \"The model writes nonsense\"\nstop billing --reason \"The release " +
		"branch is cut\"",
	"stops":                "stops",
	"usage":                "usage --by model --since 7d\nusage --focus --since 31d > charges.csv",
	"version":              "version\nversion --client",
	"webhook add":          "webhook add https://hooks.example.com/fleetboard --type 'job.*' --product payments",
	"webhook deliveries":   "webhook deliveries 019a0000-0000-7000-8000-000000000001 --status failed",
	"webhook enable":       "webhook enable 019a0000-0000-7000-8000-000000000001",
	"webhook list":         "webhook list",
	"webhook pause":        "webhook pause 019a0000-0000-7000-8000-000000000001",
	"webhook redeliver":    "webhook redeliver 019a0000-0000-7000-8000-000000000002",
	"webhook remove":       "webhook remove 019a0000-0000-7000-8000-000000000001",
	"webhook rotate":       "webhook rotate 019a0000-0000-7000-8000-000000000001 --overlap 48",
	"webhook set":          "webhook set 019a0000-0000-7000-8000-000000000001 --type 'job.*,budget.*'",
	"webhook test":         "webhook test 019a0000-0000-7000-8000-000000000001",
	"worker gc":            "worker gc --repos ~/src --dry-run",
	"worker rescue list":   "worker rescue list",
	"worker rescue remove": "worker rescue remove hello-FB-1-e1",
}

// addExamples gives each command an example.
func addExamples(cmd *cobra.Command) {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	if text, ok := examples[path]; ok && cmd.Example == "" {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if !strings.Contains(line, "$(fleet ") {
				line = "fleet " + line
			}
			lines[i] = "  " + line
		}
		cmd.Example = strings.Join(lines, "\n")
	}
	for _, below := range cmd.Commands() {
		addExamples(below)
	}
}
