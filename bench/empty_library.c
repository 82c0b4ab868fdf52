/* SPDX-License-Identifier: Apache-2.0 */
int empty_library(void);
int empty_library(void) { return 0; }
