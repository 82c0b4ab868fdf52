/*
 * SPDX-License-Identifier: Apache-2.0
 * The interface of host and plugin: plain DLPack through a void*, and the ownership of each part.
 */
#ifndef DLBRIDGE_EXAMPLES_PLUGIN_PLUGIN_H_
#define DLBRIDGE_EXAMPLES_PLUGIN_PLUGIN_H_

/* Each gives the caller a managed tensor of either kind to release, or NULL. */
void* plugin_squares(void); /* versioned: memory and deleter are dlbridge's */
void* plugin_primes(void);  /* legacy: data and deleter lie in the plugin */
void* plugin_broken(void);  /* legacy, and it breaks a rule of DLPack */

#endif /* DLBRIDGE_EXAMPLES_PLUGIN_PLUGIN_H_ */
