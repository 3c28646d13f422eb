#!/usr/bin/env node
// Committed, so that a package manager can link the command before the package is built.
import '../dist/bin.js';
