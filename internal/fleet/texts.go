package fleet

import "slices"

// Clone returns a registration that shares no list with this one.
func (r Registration) Clone() Registration {
	r.Capabilities, r.Factory = slices.Clone(r.Capabilities), r.Factory.Clone()
	return r
}

// Clone returns a description that shares no list with this one.
func (f FactoryInfo) Clone() FactoryInfo {
	f.Engines, f.Capabilities, f.Repos = slices.Clone(f.Engines), slices.Clone(f.Capabilities), slices.Clone(f.Repos)
	f.Unavailable, f.Rescued = slices.Clone(f.Unavailable), slices.Clone(f.Rescued)
	return f
}

// Texts returns pointers to all texts that an agent reports of itself and its factory, except
// their names and the boot id, which identify them.
func (r *Registration) Texts() []*string {
	return append(append(pointers(r.Capabilities), &r.Model, &r.Provider), r.Factory.Texts()...)
}

// Texts returns pointers to all texts that are reported of a factory, except its name.
func (f *FactoryInfo) Texts() []*string {
	texts := append(pointers(f.Engines), pointers(f.Capabilities)...)
	texts = append(texts, &f.OS, &f.Host)
	for i := range f.Repos {
		texts = append(texts, &f.Repos[i].Name, &f.Repos[i].URL, &f.Repos[i].DefaultBranch)
	}
	for i := range f.Unavailable {
		texts = append(texts, &f.Unavailable[i].Name, &f.Unavailable[i].Reason)
	}
	for i := range f.Rescued {
		texts = append(texts, &f.Rescued[i].Name, &f.Rescued[i].Path, &f.Rescued[i].Why)
	}
	return texts
}

func pointers(list []string) []*string {
	texts := make([]*string, 0, len(list))
	for i := range list {
		texts = append(texts, &list[i])
	}
	return texts
}
