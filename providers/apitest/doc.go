// Package apitest is what the stand-ins of providers' APIs share: a server on
// loopback with the limits of the real one, troubles that can be switched on and
// off, a record of what was asked, and the sending of webhooks.
//
// The stand-ins are ours. Nobody here has called the live services; what they do
// is what public sources say, and each behaviour names its source's grade: OFF an
// official page, SDK an official SDK, REC recorded from the live service, TP a
// third party's statement, INF inferred, UNV not verified.
package apitest
