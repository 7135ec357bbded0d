package repositories

// secrets are values that an agent must not hand in.
func secrets() []situation {
	const value = "correct-horse/battery+staple 97"
	return []situation{
		{name: "secret-in-a-file", secret: value, agent: `echo new > notes.txt; mkdir conf; echo "token=$FLEETBOARD_SECRET_TOKEN" > conf/app.env`,
			fails: "other", says: []string{"conf/app.env"}},
		{name: "secret-was-removed-again", secret: value, agent: `echo "$FLEETBOARD_SECRET_TOKEN" > old.env; git add -A; git commit -qm Old; ` +
			`git rm -q old.env; git commit -qm New; echo new > notes.txt`, fails: "other", says: []string{"old.env"}},
		{name: "secret-in-a-message", secret: value, agent: `echo new > notes.txt; git add -A; git commit -qm "With $FLEETBOARD_SECRET_TOKEN"`,
			fails: "other", says: []string{"message"}},
		{name: "secret-in-an-address", secret: value, agent: "echo 'https://x:correct-horse%2Fbattery%2Bstaple%2097@host/' > url.txt",
			fails: "other", says: []string{"url.txt"}},
		{name: "secret-in-a-big-file", secret: value, agent: `(head -c 3000000 /dev/zero; printf %s "$FLEETBOARD_SECRET_TOKEN"; head -c 3000000 /dev/zero) > core`,
			fails: "other", says: []string{"core"}},
		{name: "secret-as-a-name", secret: "plain-secret-name", agent: `echo x > "$FLEETBOARD_SECRET_TOKEN"`, fails: "other", says: []string{"name"}},
		{name: "secret-on-a-branch", secret: value, agent: `git checkout -q -b mine; echo "$FLEETBOARD_SECRET_TOKEN" > mine.env; git add -A; git commit -qm Mine`,
			fails: "other", says: []string{"mine.env"}},
		{name: "secret-alone", secret: value, build: (*repository).buildAlone, local: true, agent: `echo "$FLEETBOARD_SECRET_TOKEN" > mine.env`, fails: "other",
			says: []string{"mine.env"}},
		{name: "secret-is-a-word-of-the-repository", secret: "Ledger", agent: "echo 'More of Ledger' > more.txt", adds: map[string]entry{"more.txt": file("More of Ledger\n")}},
		{name: "secret-of-large-files", secret: value, prepare: largeFiles(true), agent: `printf %s "$FLEETBOARD_SECRET_TOKEN" > new.bin`, fails: "other",
			says: []string{"new.bin"}},
		{name: "secret-is-the-workers", agent: "echo token=@ENROLMENT@ > token.env", fails: "other", says: []string{"token.env"}},
		{name: "secret-and-a-failure", secret: value, agent: `echo "$FLEETBOARD_SECRET_TOKEN" > f.env; exit 3`, fails: "other", says: []string{"f.env"}},
		{name: "secret-unused", secret: value, agent: edits, adds: edited()},
	}
}
