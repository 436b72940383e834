#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes install.yaml anew from the manifests it is made of.
set -eu
cd "$(dirname "$0")"
kubectl kustomize overlays/recommend-only >install.yaml
