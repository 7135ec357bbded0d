// Command generate writes what oapi-codegen does not: the limits of the API as constants, and the
// names of its types in the server.
package main
