// SPDX-License-Identifier: Apache-2.0
// Functions that only read a tensor: layout, validation, findings, versions, kinds.
#include "describe.h"

namespace dlbridge::python {
namespace {

nb::dict Layout(Address tensor, uint64_t tensor_flags) {
  DLBridgeLayout layout = dlbridge_layout_init();
  Call([&](DLBridgeError* error) {
    return dlbridge_layout(At<DLTensor>(tensor), tensor_flags, &layout, error);
  });
  nb::dict out = NewDict();
  out["properties"] = layout.properties;
  out["ndim"] = layout.ndim;
  out["item_bits"] = layout.item_bits;
  out["self_overlap"] = layout.self_overlap;
  out["element_count"] = layout.element_count;
  out["packed_bytes"] = layout.packed_bytes;
  out["begin"] = layout.begin;
  out["end"] = layout.end;
  out["broadcast_axes"] = layout.broadcast_axes;
  out["negative_axes"] = layout.negative_axes;
  out["alignment"] = layout.alignment;
  return out;
}

// Level DEVICE calls a driver, so the GIL is released.
void Validate(Address tensor, uint64_t tensor_flags, const Policy* policy) {
  CallReleased([&](DLBridgeError* error) {
    return dlbridge_validate(At<DLTensor>(tensor), tensor_flags, Fields(policy), error);
  });
}
void ValidateLegacy(Address tensor, const Policy* policy) {
  CallReleased([&](DLBridgeError* error) {
    return dlbridge_validate_legacy(At<DLManagedTensor>(tensor), Fields(policy), error);
  });
}
void ValidateVersioned(Address tensor, const Policy* policy) {
  CallReleased([&](DLBridgeError* error) {
    return dlbridge_validate_versioned(At<DLManagedTensorVersioned>(tensor), Fields(policy), error);
  });
}

nb::dict FindingAsDict(const DLBridgeFinding& finding) {
  nb::dict out = NewDict();
  out["rule"] = dlbridge_rule_name(finding.rule);
  out["axis"] = nb::none();
  if (finding.axis >= 0) {
    out["axis"] = finding.axis;
  }
  out["severity"] = finding.severity;
  out["status"] = finding.status;
  out["expected"] = static_cast<const char*>(finding.expected);
  out["found"] = static_cast<const char*>(finding.found);
  out["text"] = dlbridge_rule_text(finding.rule);
  return out;
}

nb::list Diagnose(Address tensor, DLBridgeKind kind, uint64_t tensor_flags, const Policy* policy) {
  std::vector<DLBridgeFinding> findings(64);
  size_t count = 0;
  const auto ask = [&](DLBridgeError* error) {
    return dlbridge_diagnose(At<void>(tensor), kind, tensor_flags, Fields(policy), findings.data(),
                             findings.size(), &count, error);
  };
  CallReleased(ask);
  if (count > findings.size()) {
    findings.resize(count);
    CallReleased(ask);
  }
  findings.resize(count < findings.size() ? count : findings.size());
  nb::list out = NewList();
  for (const DLBridgeFinding& finding : findings) {
    out.append(FindingAsDict(finding));
  }
  return out;
}

Version RequiredVersion(Address tensor, uint64_t tensor_flags) {
  DLPackVersion version = {0, 0};
  Call([&](DLBridgeError* error) {
    return dlbridge_required_version(At<DLTensor>(tensor), tensor_flags, &version, error);
  });
  return FromVersion(version);
}

std::pair<DLBridgeKind, Version> Negotiate(Version producer, Version consumer) {
  DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
  DLPackVersion version = {0, 0};
  Call([&](DLBridgeError* error) {
    return dlbridge_negotiate(ToVersion(producer), ToVersion(consumer), &kind, &version, error);
  });
  return {kind, FromVersion(version)};
}

Address ExchangeApiFind(Address chain, Version consumer) {
  const DLPackExchangeAPI* table = nullptr;
  Call([&](DLBridgeError* error) {
    return dlbridge_exchange_api_find(At<DLPackExchangeAPIHeader>(chain), ToVersion(consumer),
                                      &table, error);
  });
  return AddressOf(table);
}

}  // namespace

void BindValidate(nb::module_* module) {
  module->def("layout", Layout, nb::arg("tensor"), nb::arg("tensor_flags") = 0,
              "The layout of the DLTensor at an address, as a dict of DLBridgeLayout.");
  module->def("validate", Validate, nb::arg("tensor"), nb::arg("tensor_flags") = 0,
              nb::arg("policy").none() = nb::none(), "Checks the DLTensor at an address.");
  module->def("validate_legacy", ValidateLegacy, nb::arg("tensor"),
              nb::arg("policy").none() = nb::none(), "Checks the DLManagedTensor at an address.");
  module->def("validate_versioned", ValidateVersioned, nb::arg("tensor"),
              nb::arg("policy").none() = nb::none(),
              "Checks the DLManagedTensorVersioned at an address.");
  module->def("diagnose", Diagnose, nb::arg("tensor"), nb::arg("kind"), nb::arg("tensor_flags") = 0,
              nb::arg("policy").none() = nb::none(),
              "Every finding on the tensor at an address, broken rules and notes, as dicts.");
  module->def("required_version", RequiredVersion, nb::arg("tensor"), nb::arg("tensor_flags") = 0,
              "The oldest DLPack version that can describe the DLTensor at an address.");
  module->def("negotiate", Negotiate, nb::arg("producer"), nb::arg("consumer"),
              "(kind, version) that a producer hands to a consumer.");
  module->def("exchange_api_find", ExchangeApiFind, nb::arg("chain"), nb::arg("consumer"),
              "Address of the newest usable table of an exchange API chain.");
  module->def(
      "identify", [](Address tensor) { return dlbridge_identify(At<void>(tensor)); },
      nb::arg("tensor"), "Kind of the managed tensor at an address, by its bytes alone.");
}

}  // namespace dlbridge::python
