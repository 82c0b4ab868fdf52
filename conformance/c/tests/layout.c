/* SPDX-License-Identifier: Apache-2.0
 * The layout that bindings mirror (bindings/rust/dlbridge-conformance/tests/layout.rs).
 * Compile-only, as C99. */
#include <stddef.h>

#include "dlbridge/conformance.h"

#define HOLDS(name, condition) typedef char name[(condition) ? 1 : -1]
#define AT(type, member, offset) offsetof(DLBridgeConformance##type, member) == (offset)
#define SIZE(type, size) sizeof(DLBridgeConformance##type) == (size)

HOLDS(request, SIZE(Request, 96) && AT(Request, features, 36) && AT(Request, values, 64) &&
                   AT(Request, consumer, 88));
HOLDS(made, SIZE(Export, 32) && AT(Export, kind, 24));
HOLDS(offer, SIZE(Offer, 32) && AT(Offer, queue, 24));
HOLDS(project, SIZE(Project, 136) && AT(Project, make, 24) && AT(Project, dtypes, 88) &&
                   AT(Project, unsupported, 120));
HOLDS(result, SIZE(Result, 80) && AT(Result, check, 16));
HOLDS(settings, SIZE(Settings, 88) && AT(Settings, command, 64) && AT(Settings, quirks, 24) &&
                    AT(Settings, report, 72));
HOLDS(summary, SIZE(Summary, 32) && AT(Summary, isolation, 28));
