// Command clidoc writes docs/cli.md from the commands of fleet and the description of the API.
package main
