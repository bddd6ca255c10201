// Handlers of virtual memory management: physical memory is reported once, from its creation to the
// call that drops the last reference to it; addresses and maps are events of their own.
#pragma once

#include "cupti_hooks/src/call.h"

namespace memprof::cupti {

// Before the first call of any of these, under the control lock.
void OpenVmmLedger();

void AddressReserve(const Call& call);
void AddressFree(const Call& call);
void CreatePhysical(const Call& call);
void ReleasePhysical(const Call& call);
void RetainPhysical(const Call& call);
void ExportPhysical(const Call& call);
void ImportPhysical(const Call& call);
void CreateMulticast(const Call& call);
void AddMulticastDevice(const Call& call);
void BindMemory(const Call& call);
void BindAddress(const Call& call);
void UnbindMemory(const Call& call);
void MapPhysical(const Call& call);
void UnmapPhysical(const Call& call);

}  // namespace memprof::cupti
