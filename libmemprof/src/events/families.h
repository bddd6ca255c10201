// Includes all events, for code that makes a table of all functions.
#pragma once

#include "libmemprof/src/events/arrays.h"
#include "libmemprof/src/events/checkpoint.h"
#include "libmemprof/src/events/context.h"
#include "libmemprof/src/events/endpoint.h"
#include "libmemprof/src/events/graph.h"
#include "libmemprof/src/events/graphics.h"
#include "libmemprof/src/events/import.h"
#include "libmemprof/src/events/managed.h"
#include "libmemprof/src/events/memory.h"
#include "libmemprof/src/events/module.h"
#include "libmemprof/src/events/multicast.h"
#include "libmemprof/src/events/pool.h"
#include "libmemprof/src/events/vmm.h"
