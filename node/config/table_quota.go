package config

// quotaProperties are what client quotas and the rate of connections are measured over.
var quotaProperties = []Property{
	effective("max.connection.creation.rate", Int, maxInt, atLeast(0), ClusterWide,
		"The most connections that are accepted in a second; further ones wait. listener.name.NAME.max.connection.creation.rate is for one listener, and counts beside it (KIP-612)."),
	effective("quota.window.num", Int, "11", atLeast(1), ReadOnly,
		"Over how many windows the rates of clients and connections are averaged; all but one of them may be used up at once."),
	effective("quota.window.size.seconds", Int, "1", atLeast(1), ReadOnly,
		"The length of such a window, and the longest time that a client is held up for its request time or its connections."),
	effective("controller.quota.window.num", Int, "11", atLeast(1), ReadOnly,
		"How many windows' worth of controller_mutation_rate a client may save up."),
	effective("controller.quota.window.size.seconds", Int, "1", atLeast(1), ReadOnly,
		"The length of such a window."),
}
