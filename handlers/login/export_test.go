package login

// KeptFlow is the name under which a session keeps a way to the provider.
const KeptFlow = keptFlow

// KeptJoin is the name under which a session keeps who wants to join.
const KeptJoin = keptJoin
