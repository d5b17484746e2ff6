// Package providertest is the conformance suite of adapters: what any of them
// must do with right, altered, unsigned and useless posts, and the golden events
// of its fixtures. docs/adding-a-provider.md says how to use it.
package providertest
