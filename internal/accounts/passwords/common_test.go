package passwords

import (
	"testing"
)

func TestPasswordsThatEverybodyTries(t *testing.T) {
	for _, password := range []string{
		"password1234", "Password123!", "passwordpassword", "P4ssw0rd2024!", "123456789012", "1234567890123", "987654321098",
		"qwertyuiop12", "1q2w3e4r5t6y", "qwerty123456", "aaaaaaaaaaaa", "abababababab", "abcdefghijkl", "letmeinletmein",
		"iloveyou1234", "Correct Horse Battery Staple", "The quick brown fox", "welcome2026!!", "Administrator1",
		"fleetboard12", "Fleetboard-Fleetboard", "fleetboard!!!!!!", "Fleetboard2026", "board-fleet-board",
		"ada.lovelace1", "adalovelace@example", "lovelace-2026", "Lovelace!!!!!!!",
	} {
		if !common(password, "ada.lovelace@example.org") {
			t.Errorf("%q is taken", password)
		}
	}
	for _, password := range []string{
		"correct horse battery", "fleetboard eats my lunch", "x7#kQ2vLp9!m", "kitten lovelace piano", "839174650281",
		"Donaudampfschiff", "ein Satz, den ich mir merke", "пароль из слов", "春眠不覚暁処処聞啼鳥夜来", "welcome to my quiet garden",
		"password hygiene matters", "zebra-march-kettle",
	} {
		if common(password, "ada.lovelace@example.org") {
			t.Errorf("%q is refused", password)
		}
	}
}

// Without the e-mail's name the same text is a password of its own.
func TestPasswordNamesTheAccount(t *testing.T) {
	if text := Problem("quentin.trelawney", "quentin.trelawney@example.org"); text == "" {
		t.Error("the e-mail's own name is taken as its password")
	}
	if text := Problem("quentin.trelawney", "ada@example.org"); text != "" {
		t.Errorf("another's name is refused: %s", text)
	}
}
