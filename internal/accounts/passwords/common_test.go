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

// What people of other languages, and at other keyboards, try first; and sentences and
// inventions in those languages, which are taken.
func TestPasswordsThatOtherLanguagesTry(t *testing.T) {
	for _, password := range []string{
		// German, with and without umlauts
		"passwort1234", "Passwort2024!", "Kennwort!!2025", "geheim123456", "willkommen12", "ichliebedich", "IchLiebeDich1", "schatzi12345",
		"bayernmünchen1", "Bayern-München1", "sonnenschein", "Sommer2024!!!", "p4ssw0rt2024", "meinpasswort1", "Oktober2025!!",
		// French
		"motdepasse12", "Mot de passe 1", "azertyuiop12", "azerty123456", "jetaimemonamour", "Bonjour2024!!", "soleil123456", "chouchou1234", "M0tdepasse!!",
		// Spanish
		"contraseña12", "contrasena123", "Contraseña2024", "tequieromucho", "teamomucho12", "realmadrid123", "holamundo1234", "micontraseña",
		// Portuguese
		"senha1234567", "minhasenha12", "bemvindo2024", "flamengo1981!", "corinthians1910", "palavra-passe1", "deusefiel123",
		// Italian
		"ciaociao1234", "benvenuto2024", "juventus1897!", "forzanapoli1", "parolachiave", "tiamotanto12", "AmoreMio2020",
		// Polish
		"haslo1234567", "Hasło1234567", "kochamcie123", "mojehaslo123", "polska123456", "ZAQ12wsx2024",
		// Russian: its own letters, in Latin ones, typed at an English keyboard
		"пароль123456", "Пароль2024!!", "привет123456", "йцукенгшщзхъ", "йцукен123456", "ятебялюблю12", "parol1234567", "privet123456",
		"lyublyu12345", "gfhjkm123456", "ghbdtn123456", "мойпароль123",
		// keyboards
		"qwertz123456", "qwertzuiopü1", "yxcvbnm12345", "asdfghjklö12", "qsdfghjklm12", "wxcvbn123456", "1qay2wsx3edc", "poiuytrewq12", "mnbvcxz12345",
		"фывапролджэ1", "йцук1йцук2!!", "1a2z3e4r5t6y",
		// names and years
		"alexander1987", "Maximilian2001", "francesco1990", "krzysztof1985", "александр1987", "katarzyna2024!", "Guillaume1998!", "Rodriguez-1979",
	} {
		if !common(password, "ada.lovelace@example.org") {
			t.Errorf("%q is taken", password)
		}
	}
	for _, password := range []string{
		"im Garten blüht der Mohn", "le chat dort sous la table", "mi abuela cocina lentejas", "o gato subiu ao telhado", "il gatto dorme sul tetto",
		"kot śpi na parapecie", "кошка спит на подоконнике", "treppenhausfenster", "пять зелёных яблок", "mgła nad rzeką o świcie", "alexander klettert gern nachts",
		"werkstattbesen-7", "tq8#wLz0-vN4p", "пароль знает только дед мороз",
	} {
		if common(password, "ada.lovelace@example.org") {
			t.Errorf("%q is refused", password)
		}
	}
}
