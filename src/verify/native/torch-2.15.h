// torch 2.15 has no at::cholesky, at::cholesky_out, at::qr and at::qr_out any more; tch 0.26 calls them. They are given
// back here by what replaced them, with the meaning that their last release had. The probe calls none of the four.
#pragma once
#include <ATen/ATen.h>
#include <tuple>

namespace at {

inline Tensor cholesky(const Tensor &self, bool upper = false) {
    return linalg_cholesky(self, upper);
}

inline Tensor &cholesky_out(Tensor &out, const Tensor &self, bool upper = false) {
    return linalg_cholesky_out(out, self, upper);
}

inline std::tuple<Tensor, Tensor> qr(const Tensor &self, bool some = true) {
    return linalg_qr(self, some ? "reduced" : "complete");
}

inline std::tuple<Tensor &, Tensor &> qr_out(Tensor &q, Tensor &r, const Tensor &self, bool some = true) {
    return linalg_qr_out(q, r, self, some ? "reduced" : "complete");
}

}
