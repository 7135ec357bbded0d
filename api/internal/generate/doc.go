// Command generate writes what oapi-codegen does not: the names of the API's types in the server.
package main
