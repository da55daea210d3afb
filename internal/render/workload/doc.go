// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package workload renders the Deployments, Jobs, the CronJob, and the objects
// that belong to the API Deployment: Service, PodDisruptionBudget and
// HorizontalPodAutoscaler.
//
// Every object names its kind, its namespace and the common labels; ownership
// is added by projection. Selectors hold exactly the three labels of
// render.SelectorLabels: they cannot be changed once a Deployment exists. Lists
// come in a fixed order, so that an unchanged Cinder renders unchanged objects.
package workload
